//! SHA-256 (FIPS 180-4): long variables are recorded by the hash of their bytes.

/// The fractional part of a prime's root, 32 bits of it, in integers: the digits of `floor(root · 2^32)`.
fn fraction(prime: u128, degree: u32) -> u32 {
    let scaled = prime << (32 * degree);
    let mut root: u128 = 0;
    for bit in (0..36).rev() {
        let trial = root | 1 << bit;
        if trial.pow(degree) <= scaled {
            root = trial;
        }
    }
    root as u32
}

fn primes() -> impl Iterator<Item = u128> {
    (2..).filter(|&number: &u128| (2..number).all(|divisor| !number.is_multiple_of(divisor)))
}

/// The hash of a message, in hexadecimal digits.
pub fn hex(message: &[u8]) -> String {
    let keys: Vec<u32> = primes().take(64).map(|prime| fraction(prime, 3)).collect();
    let mut state: Vec<u32> = primes().take(8).map(|prime| fraction(prime, 2)).collect();
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend((message.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, &byte| word << 8 | u32::from(byte));
        let mut words: Vec<u32> = block.chunks_exact(4).map(word).collect();
        for at in 16..64 {
            let (early, late) = (words[at - 15], words[at - 2]);
            let first = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
            let second = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
            words.push(words[at - 16].wrapping_add(first).wrapping_add(words[at - 7]).wrapping_add(second));
        }
        let mut now = state.clone();
        for (&key, &word) in keys.iter().zip(&words) {
            let (a, e) = (now[0], now[4]);
            let choice = e & now[5] ^ !e & now[6];
            let mixed = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let first = [mixed, choice, key, word].iter().fold(now[7], |sum, &part| sum.wrapping_add(part));
            let majority = a & now[1] ^ a & now[2] ^ now[1] & now[2];
            let second = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22)).wrapping_add(majority);
            now.rotate_right(1);
            now[4] = now[4].wrapping_add(first);
            now[0] = first.wrapping_add(second);
        }
        state.iter_mut().zip(&now).for_each(|(sum, &new)| *sum = sum.wrapping_add(new));
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

#[test]
fn the_hash_of_abc_is_the_standards() {
    assert_eq!(hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
