// Fields of the lines of logs: JSON objects and delimited columns.
//
// A buffer holds a block of whole lines in its first `size` bytes; texts with escapes are decoded behind them. A field is
// a span of the buffer, whose start is -1 if the field is missing or null. The status of a line is OK, BLANK or DAMAGED.
#pragma once
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/arrays.hpp"

namespace plackett::click_log {

enum Status : std::uint8_t { OK = 0, BLANK = 1, DAMAGED = 2 };

struct Text {  // the buffer, and where the next decoded text goes
    View<std::uint8_t> buffer;
    Index decoded_end;

    void put(std::uint32_t character) {  // in UTF-8
        if (character < 0x80) {
            byte(character);
        } else if (character < 0x800) {
            byte(0xC0 | character >> 6);
            byte(0x80 | (character & 0x3F));
        } else if (character < 0x10000) {
            byte(0xE0 | character >> 12);
            byte(0x80 | (character >> 6 & 0x3F));
            byte(0x80 | (character & 0x3F));
        } else {
            byte(0xF0 | character >> 18);
            byte(0x80 | (character >> 12 & 0x3F));
            byte(0x80 | (character >> 6 & 0x3F));
            byte(0x80 | (character & 0x3F));
        }
    }
    void byte(std::uint32_t value) { buffer[decoded_end++] = static_cast<std::uint8_t>(value); }
};

// --- JSON -----------------------------------------------------------------------------------------------------------

// Parses one line. Keys are paths such as "event_attributes.object.object_id"; a path may be nested, a key with dots, or
// lie below "_source", as in exports of OpenSearch.
class JsonLine {
public:
    JsonLine(Text& text, const std::vector<std::string>& keys, View<Index> spans, Index list_key, Rows<Index> list,
             Index list_start)
        : text(text), keys(keys), spans(spans), list_key(list_key), list(list), list_start(list_start), list_end(list_start) {}

    bool parse(Index start, Index stop) {
        at = start;
        end = stop;
        skip();
        return at < end && text.buffer[at] == '{' && object(0) && (skip(), at == end);
    }
    Index end_of_list() const { return list_end; }

private:
    static constexpr int DEEPEST = 64;
    struct Span {
        Index start = -1, stop = -1;
        bool has_escapes = false;
    };

    Text& text;
    const std::vector<std::string>& keys;
    View<Index> spans;
    Index list_key;
    Rows<Index> list;
    Index list_start, list_end;
    Index at = 0, end = 0;
    std::string path;

    std::uint8_t here() const { return at < end ? text.buffer[at] : 0; }
    void skip() {
        while (at < end && (text.buffer[at] == ' ' || text.buffer[at] == '\t' || text.buffer[at] == '\r')) ++at;
    }

    bool object(int depth) {
        if (depth > DEEPEST) return false;
        ++at;
        skip();
        if (here() == '}') return ++at, true;
        while (true) {
            skip();
            Span key;
            if (here() != '"' || !string(key)) return false;
            skip();
            if (here() != ':') return false;
            ++at;
            const std::size_t length = path.size();
            const std::string_view name(reinterpret_cast<const char*>(text.buffer.data + key.start),
                                        static_cast<std::size_t>(key.stop - key.start));
            if (!(depth == 0 && name == "_source")) {
                if (!path.empty()) path += '.';
                path += name;
            }
            const bool is_sound = field(depth);
            path.resize(length);
            if (!is_sound) return false;
            skip();
            if (here() == ',') {
                ++at;
                continue;
            }
            if (here() != '}') return false;
            return ++at, true;
        }
    }

    bool field(int depth) {
        Index place = -1;
        for (std::size_t key = 0; key < keys.size(); ++key)
            if (keys[key] == path) place = static_cast<Index>(key);
        skip();
        if (place >= 0 && place == list_key) return strings(depth);
        Span span;
        if (!value(depth, span)) return false;
        if (place >= 0) {
            if (span.has_escapes) decode(span);
            spans[2 * place] = span.start;
            spans[2 * place + 1] = span.stop;
        }
        return true;
    }

    // The items of an array, or a single value, which OpenSearch treats alike.
    bool strings(int depth) {
        list_end = list_start;
        if (here() != '[') {
            Span span;
            if (!value(depth, span)) return false;
            if (span.start >= 0) append(span);
            return true;
        }
        ++at;
        skip();
        if (here() == ']') return ++at, true;
        while (true) {
            skip();
            Span span;
            if (!value(depth + 1, span)) return false;
            append(span);
            skip();
            if (here() == ',') {
                ++at;
                continue;
            }
            if (here() != ']') return false;
            return ++at, true;
        }
    }

    void append(Span span) {
        if (span.has_escapes) decode(span);
        list(list_end, 0) = span.start;
        list(list_end, 1) = span.stop;
        ++list_end;
    }

    // Any value; the span of a string is what stands between its quotes, null has none.
    bool value(int depth, Span& span) {
        switch (here()) {
            case '"':
                return string(span);
            case '{':
                span.start = at;
                if (!nested(depth)) return false;
                span.stop = at;
                return true;
            case '[':
                span.start = at;
                if (!array(depth + 1)) return false;
                span.stop = at;
                return true;
            case 't':
                return word("true", span);
            case 'f':
                return word("false", span);
            case 'n':
                if (!word("null", span)) return false;
                span = Span();
                return true;
            default:
                return number(span);
        }
    }

    bool nested(int depth) { return object(depth + 1); }

    bool array(int depth) {
        if (depth > DEEPEST) return false;
        ++at;
        skip();
        if (here() == ']') return ++at, true;
        const std::string before = path;
        path += ".[]";  // objects in arrays are not fields
        while (true) {
            skip();
            Span span;
            if (!value(depth, span)) return false;
            skip();
            if (here() == ',') {
                ++at;
                continue;
            }
            path = before;
            if (here() != ']') return false;
            return ++at, true;
        }
    }

    bool word(std::string_view expected, Span& span) {
        span.start = at;
        for (const char c : expected) {
            if (here() != static_cast<std::uint8_t>(c)) return false;
            ++at;
        }
        span.stop = at;
        return true;
    }

    bool digits() {
        const Index first = at;
        while (here() >= '0' && here() <= '9') ++at;
        return at > first;
    }

    bool number(Span& span) {
        span.start = at;
        if (here() == '-') ++at;
        if (here() == '0') {
            ++at;  // no digit may follow
        } else if (!digits()) {
            return false;
        }
        if (here() == '.') {
            ++at;
            if (!digits()) return false;
        }
        if (here() == 'e' || here() == 'E') {
            ++at;
            if (here() == '+' || here() == '-') ++at;
            if (!digits()) return false;
        }
        span.stop = at;
        return true;
    }

    bool string(Span& span) {
        span.start = ++at;
        while (at < end) {
            const std::uint8_t c = text.buffer[at];
            if (c == '"') {
                span.stop = at++;
                return true;
            }
            if (c < 0x20) return false;
            if (c == '\\') {
                span.has_escapes = true;
                if (!escape()) return false;
            } else {
                ++at;
            }
        }
        return false;
    }

    bool escape() {
        ++at;
        const std::uint8_t c = here();
        ++at;
        if (c == 'u') {
            for (int i = 0; i < 4; ++i, ++at)
                if (hex(here()) < 0) return false;
            return true;
        }
        return c != 0 && std::strchr("\"\\/bfnrt", c) != nullptr;
    }

    static int hex(std::uint8_t c) {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        if (c >= 'A' && c <= 'F') return c - 'A' + 10;
        return -1;
    }

    std::uint32_t unit(Index where) const {
        std::uint32_t value = 0;
        for (Index i = 0; i < 4; ++i) value = value << 4 | static_cast<std::uint32_t>(hex(text.buffer[where + i]));
        return value;
    }

    void decode(Span& span) {
        const Index first = text.decoded_end;
        for (Index i = span.start; i < span.stop; ++i) {
            const std::uint8_t c = text.buffer[i];
            if (c != '\\') {
                text.byte(c);
                continue;
            }
            const std::uint8_t kind = text.buffer[++i];
            if (kind != 'u') {
                constexpr std::string_view from = "bfnrt", to = "\b\f\n\r\t";
                const std::size_t place = from.find(static_cast<char>(kind));
                text.byte(place == std::string_view::npos ? kind : static_cast<std::uint8_t>(to[place]));
                continue;
            }
            std::uint32_t character = unit(i + 1);
            i += 4;
            const bool is_high = character >= 0xD800 && character < 0xDC00;
            if (is_high && i + 6 < span.stop && text.buffer[i + 1] == '\\' && text.buffer[i + 2] == 'u') {
                const std::uint32_t low = unit(i + 3);
                if (low >= 0xDC00 && low < 0xE000) {
                    character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
                    i += 6;
                }
            }
            text.put(character >= 0xD800 && character < 0xE000 ? 0xFFFD : character);
        }
        span = {first, text.decoded_end, false};
    }
};

struct Line {  // bounds of a line, without the end of the line, and where the next one starts
    Index start, stop, next;

    static Line at(View<std::uint8_t> buffer, Index start, Index size) {
        const void* found = std::memchr(buffer.data + start, '\n', static_cast<std::size_t>(size - start));
        const Index newline = found == nullptr ? size : static_cast<const std::uint8_t*>(found) - buffer.data;
        return {start, newline > start && buffer[newline - 1] == '\r' ? newline - 1 : newline, newline + 1};
    }
    bool is_blank(View<std::uint8_t> buffer) const {
        Index inside = start;
        while (inside < stop && (buffer[inside] == ' ' || buffer[inside] == '\t')) ++inside;
        return inside == stop;
    }
};

template <class Parse>
void for_each_line(View<std::uint8_t> buffer, Index size, View<std::uint8_t> status, Parse&& parse) {
    Index row = 0;
    for (Index start = 0; start < size; ++row) {
        const Line line = Line::at(buffer, start, size);
        status[row] = line.is_blank(buffer) ? BLANK : parse(row, line.start, line.stop) ? OK : DAMAGED;
        start = line.next;
    }
}

inline std::vector<std::string> split_keys(View<const std::uint8_t> keys) {
    std::vector<std::string> answer(1);
    for (const std::uint8_t c : keys)
        if (c == '\n')
            answer.emplace_back();
        else
            answer.back() += static_cast<char>(c);
    return answer;
}

// The fields of JSON lines. `keys` are separated by newlines; the one at `list_key` is an array, whose items are appended
// to `list`; those of line i end at list_end[i].
inline void scan_json(View<std::uint8_t> buffer, Index size, View<const std::uint8_t> keys, Index list_key,
                      View<std::uint8_t> status, Rows<Index> spans, Rows<Index> list, View<Index> list_end) {
    const std::vector<std::string> names = split_keys(keys);
    Text text{buffer, size};
    Index end = 0;
    for_each_line(buffer, size, status, [&](Index row, Index start, Index stop) {
        spans[row].fill(-1);
        const Index decoded = text.decoded_end;
        JsonLine line(text, names, spans[row], list_key, list, end);
        const bool is_sound = line.parse(start, stop);
        if (is_sound) {
            end = line.end_of_list();
        } else {
            text.decoded_end = decoded;
            spans[row].fill(-1);
        }
        list_end[row] = end;
        return is_sound;
    });
    for (Index row = 0; row < status.size; ++row)  // blank lines
        if (status[row] == BLANK) {
            spans[row].fill(-1);
            list_end[row] = row > 0 ? list_end[row - 1] : 0;
        }
}

// --- Columns --------------------------------------------------------------------------------------------------------

// The columns at `places` of delimited lines with `n_columns` columns. A field in double quotes may hold the delimiter,
// ends of lines, and a quote as two of them. Empty fields without quotes are missing. Where a quote is not closed within
// MOST_LINES, or the row is not sound then, its first line is damaged and the next one begins a row. The other lines of a
// row of several lines are BLANK.
inline void scan_delimited(View<std::uint8_t> buffer, Index size, Index delimiter, Index n_columns,
                           View<const Index> places, View<std::uint8_t> status, Rows<Index> spans) {
    Text text{buffer, size};
    std::vector<Index> wanted(static_cast<std::size_t>(n_columns), -1);
    for (Index i = 0; i < places.size; ++i) wanted[static_cast<std::size_t>(places[i])] = i;
    constexpr Index MOST_LINES = 16;
    enum Outcome { SOUND, WRONG, OPEN };
    const auto parse = [&](Index row, Index start, Index stop) {
        Index at = start, column = 0;
        while (true) {
            if (column == n_columns) return WRONG;
            Index first = at, last = at;
            if (at < stop && buffer[at] == '"') {
                first = ++at;
                bool has_quotes = false;
                while (at < stop && (buffer[at] != '"' || (at + 1 < stop && buffer[at + 1] == '"'))) {
                    has_quotes |= buffer[at] == '"';
                    at += buffer[at] == '"' ? 2 : 1;
                }
                if (at >= stop) return OPEN;
                last = at++;
                if (at < stop && buffer[at] != delimiter) return WRONG;
                if (has_quotes && wanted[static_cast<std::size_t>(column)] >= 0) {
                    const Index decoded = text.decoded_end;
                    for (Index i = first; i < last; ++i) {
                        text.byte(buffer[i]);
                        if (buffer[i] == '"') ++i;
                    }
                    first = decoded;
                    last = text.decoded_end;
                }
            } else {
                while (at < stop && buffer[at] != delimiter) ++at;
                last = at;
                if (first == last) first = last = -1;
            }
            const Index place = wanted[static_cast<std::size_t>(column)];
            if (place >= 0) {
                spans(row, 2 * place) = first;
                spans(row, 2 * place + 1) = last;
            }
            ++column;
            if (at >= stop) return column == n_columns ? SOUND : WRONG;
            ++at;
            if (at == stop) {  // an empty last field
                if (column == n_columns) return WRONG;
                const Index empty = wanted[static_cast<std::size_t>(column)];
                if (empty >= 0) spans(row, 2 * empty) = spans(row, 2 * empty + 1) = -1;
                return column + 1 == n_columns ? SOUND : WRONG;
            }
        }
    };
    Index row = 0;
    for (Index start = 0; start < size;) {
        Line line = Line::at(buffer, start, size);
        start = line.next;
        if (line.is_blank(buffer)) {
            status[row++] = BLANK;
            continue;
        }
        const Index decoded = text.decoded_end;
        Outcome outcome = parse(row, line.start, line.stop);
        Index n_lines = 1;
        for (Index next = start; outcome == OPEN && n_lines < MOST_LINES && next < size; ++n_lines) {
            const Line more = Line::at(buffer, next, size);
            next = more.next;
            if (std::memchr(buffer.data + more.start, '"', static_cast<std::size_t>(more.stop - more.start)) == nullptr)
                continue;
            text.decoded_end = decoded;
            outcome = parse(row, line.start, more.stop);
            if (outcome == SOUND) start = next;
        }
        if (outcome == SOUND) {
            status[row++] = OK;
            for (; n_lines > 1; --n_lines) status[row++] = BLANK;
        } else {
            text.decoded_end = decoded;
            status[row++] = DAMAGED;
        }
    }
    for (row = 0; row < status.size; ++row)
        if (status[row] != OK) spans[row].fill(-1);
}

}  // namespace plackett::click_log
