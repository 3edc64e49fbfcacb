//! Laying out never panics and takes no memory that the text does not, alone and linked with itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use softwarp_check::{Options, resolve};
use softwarp_image::{Unit, Windows, lay_out};

fuzz_target!(|source: &str| {
    let parsed = softwarp_syntax::parse(source);
    for (relocatable, strict) in [(false, false), (true, true)] {
        let (checked, _) =
            resolve(&parsed.module, source, Options { relocatable, strict, ..Options::default() });
        let unit = Unit { module: &parsed.module, checked: &checked };
        for units in [&[unit][..], &[unit, unit]] {
            let Ok(image) = lay_out(units, softwarp_image::Options { relocatable, red_zones: !relocatable })
            else {
                continue;
            };
            for id in (0..image.objects.len() as u32).map(softwarp_image::ObjectId) {
                image.initial(&Windows::WIDE, id);
            }
        }
    }
});
