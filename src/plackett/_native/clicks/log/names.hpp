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
    mutable std::vector<std::uint64_t> hashes;
    mutable std::vector<Entry> table = std::vector<Entry>(1024, Entry{0, -1});

    static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
    std::size_t place_of(std::uint64_t hash) const { return hash & (table.size() - 1); }

    std::string_view at(Index code) const {
        return {bytes.data() + bounds[code], static_cast<std::size_t>(bounds[code + 1] - bounds[code])};
    }

    std::int32_t code_of(std::string_view name, std::uint64_t hash) const {
        std::size_t place = place_of(hash);
        while (table[place].code >= 0) {
            if (table[place].tag == tag_of(hash) && at(table[place].code) == name) return table[place].code;
            place = (place + 1) & (table.size() - 1);
        }
        const auto code = static_cast<std::int32_t>(hashes.size());
        table[place] = {tag_of(hash), code};
        hashes.push_back(hash);
        bytes.insert(bytes.end(), name.begin(), name.end());
        bounds.push_back(static_cast<Index>(bytes.size()));
        if (2 * hashes.size() > table.size()) grow();
        return code;
    }

    void grow() const {
        table.assign(2 * table.size(), Entry{0, -1});
        for (std::size_t code = 0; code < hashes.size(); ++code) {
            std::size_t place = place_of(hashes[code]);
            while (table[place].code >= 0) place = (place + 1) & (table.size() - 1);
            table[place] = {tag_of(hashes[code]), static_cast<std::int32_t>(code)};
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

// Codes of numbers in the order of their first appearance. Return how many are different, which are written, too; -1 if
// they are more than codes.
inline Index code_numbers(View<const Index> numbers, View<std::int32_t> codes, View<Index> different) {
    constexpr Index AHEAD = 16;
    std::vector<std::int32_t> table(1024, -1);
    Index n = 0;
    const auto place_of = [&](Index number) { return mixed(static_cast<std::uint64_t>(number)) & (table.size() - 1); };
    for (Index row = 0; row < numbers.size; ++row) {
        if (row + AHEAD < numbers.size) fetch(table.data() + place_of(numbers[row + AHEAD]));
        std::size_t place = place_of(numbers[row]);
        while (table[place] >= 0 && different[table[place]] != numbers[row]) place = (place + 1) & (table.size() - 1);
        if (table[place] < 0) {
            if (n == std::numeric_limits<std::int32_t>::max()) return -1;
            table[place] = static_cast<std::int32_t>(n);
            different[n++] = numbers[row];
        }
        codes[row] = table[place];
        if (2 * static_cast<std::size_t>(n) > table.size()) {
            table.assign(2 * table.size(), -1);
            for (Index code = 0; code < n; ++code) {
                std::size_t free = place_of(different[code]);
                while (table[free] >= 0) free = (free + 1) & (table.size() - 1);
                table[free] = static_cast<std::int32_t>(code);
            }
        }
    }
    return n;
}

inline std::pair<Index, Index> count_names(const Names& names) {
    return {static_cast<Index>(names.hashes.size()), static_cast<Index>(names.bytes.size())};
}

// Write the names sorted by their bytes, and the position of each code among them.
inline void sort_names(const Names& names, View<std::uint8_t> buffer, View<Index> bounds, View<std::int32_t> place) {
    struct Key {
        std::uint64_t head;
        std::int32_t code;
    };
    std::vector<Key> keys(names.hashes.size());
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
