//! Directions to faces of a cube (PTX ISA section 9.7.10.3, `tex.cube`).
//!
//! As the assembler and an H200 do it together: the direction is multiplied by the approximate reciprocal of its largest
//! component, which leaves that one at about 1; the others, halved and moved to 0 to 1, are coordinates on the face.
//! Of equal components z counts before y and y before x.

use crate::ops::approx::reciprocal;

/// The face that a direction points to, and where on it, from 0 to 1.
pub fn project(direction: [f32; 3]) -> (u32, [f32; 2]) {
    let largest = direction.iter().fold(0f32, |most, part| most.max(part.abs()));
    let scale = f32::from_bits(reciprocal(largest, true));
    let [x, y, z] = direction.map(|part| part * scale);
    let [ax, ay, az] = [x, y, z].map(|part| if part.is_nan() { 0.0 } else { part.abs() });
    let (face, s, t) = if az >= ax && az >= ay {
        if z < 0.0 { (5, -x, -y) } else { (4, x, -y) }
    } else if ay >= ax {
        if y < 0.0 { (3, x, -z) } else { (2, x, z) }
    } else if x < 0.0 {
        (1, z, -y)
    } else {
        (0, -z, -y)
    };
    (face, [s, t].map(halve))
}

/// How coordinates on the face move when a direction does.
pub fn moves(direction: [f32; 3], by: [f32; 3]) -> [f32; 3] {
    let major =
        (0..3).rev().fold(2, |major, n| if direction[n].abs() > direction[major].abs() { n } else { major });
    let length = direction[major].abs();
    let grows = by[major] * direction[major].signum();
    let mut moved = [0.0; 3];
    for (to, n) in moved.iter_mut().zip((0..3).filter(|&n| n != major)) {
        *to = 0.5 * (by[n] * length - direction[n] * grows) / (length * length);
    }
    moved
}

/// From -1 to 1, to 0 to 1 with as many digits as a coordinate has, cut: exact in a single.
fn halve(part: f32) -> f32 {
    let part = if part.is_nan() { 0.0 } else { part.clamp(-1.0, 1.0) };
    const UNIT: f64 = (1 << 21) as f64;
    (((f64::from(part) + 1.0) * 0.5 * UNIT).floor() / UNIT) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_component_chooses_the_face_and_z_goes_first() {
        for (direction, face) in [
            ([1.0, 0.0, 0.0], 0),
            ([-1.0, 0.0, 0.0], 1),
            ([0.0, 1.0, 0.0], 2),
            ([0.0, -1.0, 0.0], 3),
            ([0.0, 0.0, 1.0], 4),
            ([0.0, 0.0, -1.0], 5),
            ([1.0, 1.0, 1.0], 4),
            ([-1.0, -1.0, -1.0], 5),
            ([1.0, 1.0, 0.0], 2),
            ([0.0, 0.0, 0.0], 4),
            ([f32::INFINITY, 0.0, 0.0], 4),
            ([1e-40, 0.0, 0.0], 0),
        ] {
            assert_eq!(project(direction).0, face, "{direction:?}");
        }
        assert_eq!(project([1.0, 0.5, 0.0]), (0, [0.5, 0.25]));
    }
}
