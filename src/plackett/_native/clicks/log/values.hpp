// Numbers, truth values and times in spans of text.
#pragma once
#include <cmath>
#include <limits>
#include <string_view>

#include "core/arrays.hpp"

namespace plackett::click_log {

constexpr Index MISSING = -1, INVALID = -2;

inline std::string_view text_of(View<const std::uint8_t> buffer, Index start, Index stop) {
    const auto text = buffer.slice(start, stop);
    return {reinterpret_cast<const char*>(text.data), static_cast<std::size_t>(text.size)};
}

inline std::string_view stripped(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

// Whole numbers of at most 9 digits, "3" or "3.0"; negative ones are invalid, too.
inline Index whole_of(std::string_view text) {
    text = stripped(text);
    if (text.empty()) return MISSING;
    Index value = 0;
    std::size_t i = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
        if (i == 9) return INVALID;
        value = 10 * value + (text[i] - '0');
    }
    if (i == 0) return INVALID;
    if (i < text.size() && text[i] == '.') {
        ++i;
        while (i < text.size() && text[i] == '0') ++i;
    }
    return i == text.size() ? value : INVALID;
}

inline void parse_whole(View<const std::uint8_t> buffer, Rows<const Index> spans, View<std::int32_t> values) {
    for (Index row = 0; row < spans.n_rows; ++row)
        values[row] = static_cast<std::int32_t>(
            spans(row, 0) < 0 ? MISSING : whole_of(text_of(buffer, spans(row, 0), spans(row, 1))));
}

// 0 or 1; numbers above 1 are counts of clicks. Otherwise true/false, t/f or yes/no, in any case.
inline void parse_flags(View<const std::uint8_t> buffer, Rows<const Index> spans, View<std::int32_t> values) {
    for (Index row = 0; row < spans.n_rows; ++row) {
        if (spans(row, 0) < 0) {
            values[row] = MISSING;
            continue;
        }
        const std::string_view text = stripped(text_of(buffer, spans(row, 0), spans(row, 1)));
        const Index number = whole_of(text);
        if (number != INVALID) {
            values[row] = static_cast<std::int32_t>(number);
            continue;
        }
        const auto is = [&](std::string_view word) {
            if (word.size() != text.size()) return false;
            for (std::size_t i = 0; i < word.size(); ++i)
                if ((text[i] | 0x20) != word[i]) return false;
            return true;
        };
        const bool is_true = is("true") || is("t") || is("yes"), is_false = is("false") || is("f") || is("no");
        values[row] = is_true ? 1 : is_false ? 0 : static_cast<std::int32_t>(INVALID);
    }
}

inline Index days_from_civil(Index year, Index month, Index day) {  // since 1970-01-01, in the Gregorian calendar
    year -= month <= 2;
    const Index era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    const Index of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

// Seconds since 1970 of "2018-11-13T20:20:39.250+01:00", or a number: seconds, from 1e11 on milliseconds, from 1e14 on
// microseconds, from 1e17 on nanoseconds.
inline double seconds_of(std::string_view text) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    text = stripped(text);
    std::size_t at = 0;
    const auto digits = [&](int least, int most) -> Index {
        Index value = 0;
        int n = 0;
        for (; n < most && at < text.size() && text[at] >= '0' && text[at] <= '9'; ++n, ++at)
            value = 10 * value + (text[at] - '0');
        return n < least ? -1 : value;
    };
    const auto fraction = [&]() {
        double value = 0, scale = 1;
        for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
            scale *= 10;
            if (scale <= 1e9) value = 10 * value + (text[at] - '0');
            else scale = 1e9;
        }
        return value / scale;
    };
    const Index year = digits(1, 18);
    if (year < 0) return none;
    if (at < text.size() && text[at] == '-' && at == 4) {
        const auto after = [&](char mark) { return at < text.size() && text[at] == mark && (++at, true); };
        if (!after('-')) return none;
        const Index month = digits(2, 2);
        if (!after('-')) return none;
        const Index day = digits(2, 2);
        if (month < 1 || month > 12 || day < 1 || day > 31) return none;
        double seconds = 86400.0 * static_cast<double>(days_from_civil(year, month, day));
        if (at == text.size()) return seconds;
        if (text[at] != 'T' && text[at] != 't' && text[at] != ' ') return none;
        ++at;
        const Index hour = digits(2, 2);
        if (!after(':')) return none;
        const Index minute = digits(2, 2);
        if (hour < 0 || minute < 0) return none;
        seconds += 3600.0 * static_cast<double>(hour) + 60.0 * static_cast<double>(minute);
        if (after(':')) {
            const Index second = digits(2, 2);
            if (second < 0) return none;
            seconds += static_cast<double>(second);
            if (at < text.size() && text[at] == '.') seconds += fraction();
        }
        if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
            const double sign = text[at] == '+' ? -1 : 1;
            ++at;
            const Index hours = digits(2, 2);
            after(':');
            const Index minutes = at < text.size() ? digits(2, 2) : 0;
            if (hours < 0 || minutes < 0) return none;
            seconds += sign * (3600.0 * static_cast<double>(hours) + 60.0 * static_cast<double>(minutes));
        } else if (at < text.size() && (text[at] == 'Z' || text[at] == 'z')) {
            ++at;
        }
        return at == text.size() ? seconds : none;
    }
    double value = static_cast<double>(year);
    if (at == 18 && at < text.size() && text[at] >= '0' && text[at] <= '9') value = 10 * value + (text[at++] - '0');
    if (at < text.size() && text[at] == '.') value += fraction();
    if (at != text.size()) return none;
    return value >= 1e17 ? value / 1e9 : value >= 1e14 ? value / 1e6 : value >= 1e11 ? value / 1000 : value;
}

inline void parse_times(View<const std::uint8_t> buffer, Rows<const Index> spans, View<double> seconds) {
    for (Index row = 0; row < spans.n_rows; ++row)
        seconds[row] = spans(row, 0) < 0 ? std::numeric_limits<double>::quiet_NaN()
                                         : seconds_of(text_of(buffer, spans(row, 0), spans(row, 1)));
}

}  // namespace plackett::click_log
