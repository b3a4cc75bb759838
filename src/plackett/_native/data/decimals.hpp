// Decimal numbers as text: the double that Python's float() gives, without a Python call per number.
//
// Short plain decimals are a whole number divided by a power of ten, both exact in float64, so the quotient is correctly
// rounded. All other numbers use the multiplication by a 128-bit power of five of [lemire2021]. The few numbers that it
// cannot decide are reported as HARD and parsed by Python.
#pragma once
#include <array>
#include <bit>
#include <limits>

#include "core/arrays.hpp"

namespace plackett::letor {

using Text = View<const std::uint8_t>;  // ends in a newline, which terminates every loop

enum class Kind { finite, null, word, hard, bad };  // word: inf or nan

constexpr int MOST_DIGITS = 19;                            // number of digits that always fit into 64 bits
constexpr std::uint64_t EXACT = std::uint64_t{1} << 53;  // whole numbers up to this one are exact in float64
constexpr double POWERS_OF_TEN[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int N_POWERS_OF_TEN = 23;  // all powers of ten that are exact
constexpr int SMALLEST_POWER = -342, LARGEST_POWER = 308;

struct Bits128 {
    std::uint64_t high, low;
};

// The leading 128 bits of each power of five from SMALLEST_POWER to LARGEST_POWER; the reciprocals up to 5**-27 are rounded
// up, all others down.
constexpr auto powers_of_five() {
    constexpr int N_WORDS = 56;  // 32-bit words, least significant first: 2**1791 / 5**342 still has more than 128 bits
    std::array<Bits128, LARGEST_POWER - SMALLEST_POWER + 1> table{};
    const auto leading = [](const std::array<std::uint32_t, N_WORDS>& words) {
        int top = N_WORDS - 1;
        while (words[top] == 0) --top;
        const auto word = [&](int place) { return place >= 0 ? std::uint64_t{words[place]} : 0; };
        const int shift = std::countl_zero(words[top]);
        const auto pair = [&](int place) {  // 64 bits, whose first bit is in the word at `place`
            const std::uint64_t both = word(place) << 32 | word(place - 1);
            return shift == 0 ? both : both << shift | word(place - 2) >> (32 - shift);
        };
        return Bits128{pair(top), pair(top - 2)};
    };
    std::array<std::uint32_t, N_WORDS> words{};
    words[0] = 1;
    for (int power = 0; power <= LARGEST_POWER; ++power) {
        table[power - SMALLEST_POWER] = leading(words);
        std::uint64_t carry = 0;
        for (auto& word : words) {
            carry += std::uint64_t{word} * 5;
            word = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
    }
    words = {};
    words[N_WORDS - 1] = std::uint32_t{1} << 31;
    for (int power = -1; power >= SMALLEST_POWER; --power) {
        std::uint64_t rest = 0;
        for (int place = N_WORDS - 1; place >= 0; --place) {
            rest = rest << 32 | words[place];
            words[place] = static_cast<std::uint32_t>(rest / 5);
            rest %= 5;
        }
        Bits128 found = leading(words);
        if (power >= -27) found.high += ++found.low == 0;
        table[power - SMALLEST_POWER] = found;
    }
    return table;
}

inline constexpr auto POWERS_OF_FIVE = powers_of_five();

constexpr Bits128 multiply(std::uint64_t a, std::uint64_t b) {  // by halves: some compilers lack 128-bit integers
    constexpr std::uint64_t LOW = 0xFFFFFFFF;
    const std::uint64_t a_low = a & LOW, a_high = a >> 32, b_low = b & LOW, b_high = b >> 32;
    const std::uint64_t low = a_low * b_low;
    const std::uint64_t middle = a_high * b_low + (low >> 32);
    const std::uint64_t other = a_low * b_high + (middle & LOW);
    return {a_high * b_high + (middle >> 32) + (other >> 32), other << 32 | (low & LOW)};
}

struct Scaled {
    double value;
    bool is_decided;
};

// digits * 10**power correctly rounded, and whether that could be decided (normal numbers only).
inline Scaled scale(std::uint64_t digits, Index power) {
    if (digits == 0) return {0.0, true};
    if (power < SMALLEST_POWER || power > LARGEST_POWER) return {0.0, false};
    const int lead = std::countl_zero(digits);
    digits <<= lead;
    const Bits128 five = POWERS_OF_FIVE[static_cast<std::size_t>(power - SMALLEST_POWER)];
    auto [high, low] = multiply(digits, five.high);
    constexpr std::uint64_t DROPPED = 0x1FF;  // the 64 - 55 bits that do not affect rounding
    if ((high & DROPPED) == DROPPED) {
        const std::uint64_t more = multiply(digits, five.low).high;
        low += more;
        high += more > low;
    }
    if (low == ~std::uint64_t{0} && (power < -27 || power > 55)) return {0.0, false};
    const int upper = static_cast<int>(high >> 63);
    std::uint64_t mantissa = high >> (upper + 9);
    Index exponent = ((217706 * power) >> 16) + 63 + upper - lead + 1023;  // 217706 / 2**16: log2 of 10
    if (exponent <= 0) return {0.0, false};
    if (low <= 1 && power >= -4 && power <= 23 && (mantissa & 3) == 1 && mantissa << (upper + 9) == high)
        --mantissa;  // halfway between two doubles: round to even
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if (mantissa >= EXACT) {
        mantissa >>= 1;
        ++exponent;
    }
    if (exponent >= 2047) return {0.0, false};
    constexpr std::uint64_t HIDDEN = std::uint64_t{1} << 52;
    return {std::bit_cast<double>(static_cast<std::uint64_t>(exponent) << 52 | (mantissa & (HIDDEN - 1))), true};
}

inline std::uint8_t digit_of(std::uint8_t c) { return static_cast<std::uint8_t>(c - '0'); }  // 10 and more: not a digit
inline bool is_end(std::uint8_t c) { return c <= ' ' || c == '#'; }

struct Number {
    Index place;  // the position after it
    double value;
    Kind kind;
};

// Whether the text at `place` is a word, ignoring case. The newline at the end of the text terminates the comparison.
inline bool is_word_at(Text text, Index place, const char* word) {
    while (*word != '\0' && (text[place] | 32) == *word) ++place, ++word;
    return *word == '\0';
}

// Parse NULL, inf, infinity or nan, ignoring case; `place` is after a sign that began at `start`.
inline Number word_number(Text text, Index start, Index place) {
    if (text[place] == 'N' && text[place + 1] == 'U' && text[place + 2] == 'L' && text[place + 3] == 'L') {
        if (start == place && is_end(text[place + 4])) return {place + 4, 0.0, Kind::null};
        return {place, 0.0, Kind::bad};
    }
    double value = std::numeric_limits<double>::quiet_NaN();
    if (is_word_at(text, place, "nan")) {
        place += 3;
    } else if (is_word_at(text, place, "inf")) {
        value = std::numeric_limits<double>::infinity();
        if (text[start] == '-') value = -value;
        place += is_word_at(text, place, "infinity") ? 8 : 3;
    } else {
        return {place, 0.0, Kind::bad};
    }
    return {place, value, is_end(text[place]) ? Kind::word : Kind::bad};
}

// Parse a number in any of its forms at `place`.
inline Number number(Text text, Index place) {
    const Index start = place;
    if (text[place] == '-' || text[place] == '+') ++place;
    if (digit_of(text[place]) >= 10 && text[place] != '.') return word_number(text, start, place);
    std::uint64_t digits = 0;
    Index n_digits = 0, n_dropped = 0, n_seen = 0, power = 0;
    bool is_fraction = false;
    for (;; ++place) {
        const std::uint8_t digit = digit_of(text[place]);
        if (digit < 10) {
            ++n_seen;
            if (n_digits < MOST_DIGITS) {
                digits = digits * 10 + digit;
                n_digits += digits > 0;
                power -= is_fraction;
            } else {
                ++n_dropped;
                power += !is_fraction;
            }
        } else if (text[place] == '.' && !is_fraction) {
            is_fraction = true;
        } else {
            break;
        }
    }
    if (n_seen == 0) return {place, 0.0, Kind::bad};
    if ((text[place] | 32) == 'e') {
        ++place;
        const bool is_negative = text[place] == '-';
        if (is_negative || text[place] == '+') ++place;
        if (digit_of(text[place]) >= 10) return {place, 0.0, Kind::bad};
        Index exponent = 0;  // limited to the range of exponents of a double
        for (; digit_of(text[place]) < 10; ++place)
            if (exponent < 100'000'000) exponent = 10 * exponent + digit_of(text[place]);
        power += is_negative ? -exponent : exponent;
    }
    if (!is_end(text[place])) return {place, 0.0, Kind::bad};
    auto [value, is_decided] = scale(digits, power);
    if (n_dropped > 0) {
        // the omitted digits are between these two; if both round alike, so does the number itself
        const Scaled above = scale(digits + 1, power);
        is_decided = is_decided && above.is_decided && above.value == value;
    }
    if (!is_decided) return {place, 0.0, Kind::hard};
    return {place, text[start] == '-' ? -value : value, Kind::finite};
}

}  // namespace plackett::letor
