// Codes of names in the order of their first appearance, and their order by bytes.
#pragma once
#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/arrays.hpp"

namespace plackett::click_log {

using Bytes = View<const std::uint8_t>;

inline std::uint64_t mixed(std::uint64_t x) {  // the finaliser of splitmix64
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9ULL;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

inline std::uint64_t hash_of(std::string_view name) {
    std::uint64_t hash = 0x9E3779B97F4A7C15ULL + name.size();
    while (name.size() >= 8) {
        std::uint64_t word;
        std::memcpy(&word, name.data(), 8);
        hash = mixed(hash ^ word) + 0x9E3779B97F4A7C15ULL;
        name.remove_prefix(8);
    }
    std::uint64_t rest = 0;
    std::memcpy(&rest, name.data(), name.size());
    return mixed(hash ^ rest);
}

// Different names, in one buffer, with a hash table of their codes. Objects are bound as const, so the state is mutable.
struct Names {
    struct Entry {
        std::uint32_t tag;  // the upper half of the hash
        std::int32_t code;  // -1 if the place is free
    };
    mutable std::vector<char> bytes;
    mutable std::vector<Index> bounds{0};
    mutable std::vector<Entry> table = std::vector<Entry>(1024, Entry{0, -1});

    static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
    std::size_t place_of(std::uint64_t hash) const { return hash & (table.size() - 1); }
    std::size_t size() const { return bounds.size() - 1; }

    std::string_view at(Index code) const {
        return {bytes.data() + bounds[code], static_cast<std::size_t>(bounds[code + 1] - bounds[code])};
    }

    std::int32_t code_of(std::string_view name, std::uint64_t hash) const {
        std::size_t place = place_of(hash);
        while (table[place].code >= 0) {
            if (table[place].tag == tag_of(hash) && at(table[place].code) == name) return table[place].code;
            place = (place + 1) & (table.size() - 1);
        }
        const auto code = static_cast<std::int32_t>(size());
        table[place] = {tag_of(hash), code};
        bytes.insert(bytes.end(), name.begin(), name.end());
        bounds.push_back(static_cast<Index>(bytes.size()));
        if (10 * size() > 7 * table.size()) grow();
        return code;
    }

    void grow() const {  // hashes are computed again: keeping them would take as much memory as many names
        const std::size_t n_places = 2 * table.size();
        table = {};  // freed before the new one is made
        table.assign(n_places, Entry{0, -1});
        for (std::size_t code = 0; code < size(); ++code) {
            const std::uint64_t hash = hash_of(at(static_cast<Index>(code)));
            std::size_t place = place_of(hash);
            while (table[place].code >= 0) place = (place + 1) & (table.size() - 1);
            table[place] = {tag_of(hash), static_cast<std::int32_t>(code)};
        }
    }
};

inline Names* make_names() { return new Names; }

inline void fetch(const void* address) {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#endif
}

// The code of each span of the buffer; -1 where the start is negative. Rows are looked up in groups: the memory of all is
// requested before the first is compared, because most of the time would be spent waiting for it.
inline void add_names(const Names& names, Bytes buffer, Rows<const Index> spans, View<std::int32_t> codes) {
    constexpr Index GROUP = 32;
    std::string_view name[GROUP];
    std::uint64_t hash[GROUP];
    const auto text_at = [&](Index row) {
        const auto text = buffer.slice(spans(row, 0), spans(row, 1));
        return std::string_view(reinterpret_cast<const char*>(text.data), static_cast<std::size_t>(text.size));
    };
    for (Index first = 0; first < spans.n_rows; first += GROUP) {
        const Index n = std::min(GROUP, spans.n_rows - first);
        for (Index i = 0; i < n; ++i) {
            if (spans(first + i, 0) < 0) continue;
            name[i] = text_at(first + i);
            hash[i] = hash_of(name[i]);
            fetch(names.table.data() + names.place_of(hash[i]));
        }
        for (Index i = 0; i < n; ++i) {
            if (spans(first + i, 0) < 0) continue;
            const std::int32_t code = names.table[names.place_of(hash[i])].code;
            if (code >= 0) fetch(names.bounds.data() + code);
        }
        for (Index i = 0; i < n; ++i) {
            if (spans(first + i, 0) < 0) continue;
            const std::int32_t code = names.table[names.place_of(hash[i])].code;
            if (code >= 0) fetch(names.bytes.data() + names.bounds[static_cast<std::size_t>(code)]);
        }
        for (Index i = 0; i < n; ++i)
            codes[first + i] = spans(first + i, 0) < 0 ? -1 : names.code_of(name[i], hash[i]);
    }
}

// Mark rows whose text is not that of the row before; missing texts, with a negative start, are equal.
inline void mark_changes(Bytes buffer, Rows<const Index> spans, View<bool> is_new) {
    for (Index row = 0; row < spans.n_rows; ++row) {
        if (row > 0 && (spans(row, 0) < 0 || spans(row - 1, 0) < 0)) {
            is_new[row] |= (spans(row, 0) < 0) != (spans(row - 1, 0) < 0);
        } else if (row > 0) {
            const auto text = buffer.slice(spans(row, 0), spans(row, 1));
            const auto before = buffer.slice(spans(row - 1, 0), spans(row - 1, 1));
            is_new[row] |= text.size != before.size ||
                           (text.size && std::memcmp(text.data, before.data, static_cast<std::size_t>(text.size)) != 0);
        } else {
            is_new[row] = true;
        }
    }
}

// The texts of spans, one behind the other.
inline void copy_spans(Bytes buffer, Rows<const Index> spans, View<std::uint8_t> texts) {
    Index end = 0;
    for (Index row = 0; row < spans.n_rows; ++row) {
        const auto text = buffer.slice(spans(row, 0), spans(row, 1));
        if (text.size) std::memcpy(texts.slice(end, end + text.size).data, text.data, static_cast<std::size_t>(text.size));
        end += text.size;
    }
}

// Different numbers in the order of their first appearance, with a hash table of their codes.
struct Numbers {
    mutable std::vector<Index> different;
    mutable std::vector<std::int32_t> table = std::vector<std::int32_t>(1024, -1);

    std::size_t place_of(Index number) const { return mixed(static_cast<std::uint64_t>(number)) & (table.size() - 1); }

    void grow() const {
        const std::size_t n_places = 2 * table.size();
        table = {};
        table.assign(n_places, -1);
        for (std::size_t code = 0; code < different.size(); ++code) {
            std::size_t place = place_of(different[code]);
            while (table[place] >= 0) place = (place + 1) & (table.size() - 1);
            table[place] = static_cast<std::int32_t>(code);
        }
    }
};

inline Numbers* make_numbers() { return new Numbers; }

// The codes of numbers. Return how many numbers are different so far; -1 if they are more than codes.
inline Index add_numbers(const Numbers& numbers, View<const Index> added, View<std::int32_t> codes) {
    constexpr Index AHEAD = 16;
    for (Index row = 0; row < added.size; ++row) {
        if (row + AHEAD < added.size) fetch(numbers.table.data() + numbers.place_of(added[row + AHEAD]));
        std::size_t place = numbers.place_of(added[row]);
        while (numbers.table[place] >= 0 && numbers.different[static_cast<std::size_t>(numbers.table[place])] != added[row])
            place = (place + 1) & (numbers.table.size() - 1);
        if (numbers.table[place] >= 0) {
            codes[row] = numbers.table[place];
            continue;
        }
        if (numbers.different.size() == std::numeric_limits<std::int32_t>::max()) return -1;
        codes[row] = numbers.table[place] = static_cast<std::int32_t>(numbers.different.size());
        numbers.different.push_back(added[row]);
        if (2 * numbers.different.size() > numbers.table.size()) numbers.grow();
    }
    return static_cast<Index>(numbers.different.size());
}

inline void copy_numbers(const Numbers& numbers, View<Index> different) {
    std::copy(numbers.different.begin(), numbers.different.end(), different.begin());
}

inline std::pair<Index, Index> count_names(const Names& names) {
    return {static_cast<Index>(names.size()), static_cast<Index>(names.bytes.size())};
}

// Bounds of the texts of some names, one behind the other; `copy_names` writes the texts.
inline void measure_names(const Names& names, View<const std::int32_t> codes, View<Index> bounds) {
    bounds[0] = 0;
    for (Index i = 0; i < codes.size; ++i) bounds[i + 1] = bounds[i] + static_cast<Index>(names.at(codes[i]).size());
}

inline void copy_names(const Names& names, View<const std::int32_t> codes, View<const Index> bounds,
                       View<std::uint8_t> buffer) {
    for (Index i = 0; i < codes.size; ++i) {
        const std::string_view name = names.at(codes[i]);
        if (!name.empty()) std::memcpy(buffer.slice(bounds[i], bounds[i + 1]).data, name.data(), name.size());
    }
}

// Write the names sorted by their bytes, and the position of each code among them.
inline void sort_names(const Names& names, View<std::uint8_t> buffer, View<Index> bounds, View<std::int32_t> place) {
    struct Key {
        std::uint64_t head;
        std::int32_t code;
    };
    std::vector<Key> keys(names.size());
    for (std::size_t code = 0; code < keys.size(); ++code) {
        const std::string_view name = names.at(static_cast<Index>(code));
        std::uint64_t head = 0;
        for (std::size_t i = 0; i < 8; ++i)
            head = head << 8 | (i < name.size() ? static_cast<std::uint8_t>(name[i]) : 0);
        keys[code] = {head, static_cast<std::int32_t>(code)};
    }
    std::sort(keys.begin(), keys.end(), [&](const Key& one, const Key& other) {
        return one.head != other.head ? one.head < other.head : names.at(one.code) < names.at(other.code);
    });
    Index end = 0;
    bounds[0] = 0;
    for (std::size_t rank = 0; rank < keys.size(); ++rank) {
        const std::string_view name = names.at(keys[rank].code);
        if (!name.empty())
            std::memcpy(buffer.slice(end, end + static_cast<Index>(name.size())).data, name.data(), name.size());
        end += static_cast<Index>(name.size());
        bounds[static_cast<Index>(rank) + 1] = end;
        place[keys[rank].code] = static_cast<std::int32_t>(rank);
    }
}

}  // namespace plackett::click_log
