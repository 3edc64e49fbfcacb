//! Checking body by body gives what checking the whole module gives, diagnostics included.

use softwarp_check::checked::{CheckedModule, Function, Variable};
use softwarp_check::{Locals, Options, resolve, resolve_outline};
use softwarp_isa::Target;
use softwarp_syntax::{Module, parse};
use softwarp_testkit::{SplitMix64, recording};

/// What is known of a module, with names in words.
fn known(module: &Module, checked: &CheckedModule) -> String {
    let variable = |one: &Variable| {
        let bare = Variable { name: softwarp_syntax::tree::Symbol(0), user: None, ..one.clone() };
        format!("{} {bare:?}", module.name(one.name))
    };
    let function = |one: &Function| {
        let bare = Function { name: softwarp_syntax::tree::Symbol(0), ..one.clone() };
        format!("{} {bare:?}", module.name(one.name))
    };
    let aliases: Vec<_> = checked.aliases.iter().map(|(name, id)| (module.name(*name), *id)).collect();
    format!(
        "{:?}\n{}\n{}\n{aliases:?}",
        checked.header,
        checked.variables.iter().map(variable).collect::<Vec<_>>().join("\n"),
        checked.functions.iter().map(function).collect::<Vec<_>>().join("\n"),
    )
}

/// Compares both ways; says whether there was a result body by body.
fn compare(name: &str, text: &str, options: Options, threads: usize) -> bool {
    let Some(few) = resolve_outline(text, options, Locals::Few, threads) else { return false };
    let all = resolve_outline(text, options, Locals::All, threads).expect("as before");
    let parsed = parse(text);
    assert!(parsed.diagnostics.is_empty(), "{name}: {:?}", parsed.diagnostics[0]);
    let (checked, diagnostics) = resolve(&parsed.module, text, options);
    assert_eq!(few.diagnostics, diagnostics, "{name}:\n{text}");
    assert_eq!(all.diagnostics, diagnostics, "{name}:\n{text}");
    let (by_bodies, whole) = (known(&all.module, &all.checked), known(&parsed.module, &checked));
    assert!(by_bodies == whole, "{name}: {by_bodies}\n\n{whole}");
    true
}

fn modules(file: &str) -> Vec<(String, Options, String)> {
    let row = |row: serde_json::Value| {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let name = if text("id").is_empty() { text("name") } else { text("id") };
        let options = Options {
            arch: Target::from_name(&text("arch")),
            relocatable: text("mode") == "rdc",
            ..Options::default()
        };
        (name, options, text("ptx"))
    };
    recording::values(recording::golden("check", file)).map(row).collect()
}

#[test]
fn recorded_modules_are_judged_alike() {
    for (file, least) in [("real.jsonl.gz", 60), ("modules.jsonl.gz", 30), ("ptxas.jsonl.gz", 1000)] {
        let all = modules(file);
        let compared = all.iter().filter(|(name, options, text)| compare(name, text, *options, 3)).count();
        println!("{file}: {compared} of {}", all.len());
        assert!(compared >= least, "{file}: {compared} of {} were checked body by body", all.len());
    }
}

#[test]
fn modules_with_mistakes_are_judged_alike() {
    let mut random = SplitMix64::new(11);
    let (mut compared, mut wrong) = (0, 0);
    let words = [
        ".u32", ".f32", ".pred", "%r1", "%r99999", "%p1", "%rd1", "add", "ld", ".global", ".shared", "x",
        "%tid.x",
    ];
    for (name, options, text) in modules("real.jsonl.gz") {
        if text.len() > 300_000 {
            continue;
        }
        let places: Vec<_> = softwarp_syntax::tokens(&text)
            .filter(|span| words.contains(&span.text(&text)) || span.text(&text).starts_with('%'))
            .collect();
        if places.is_empty() {
            continue;
        }
        for count in 1..5 {
            let mut mutated = text.clone();
            for _ in 0..count {
                let span = places[random.next_u32() as usize % places.len()];
                let word = words[random.next_u32() as usize % words.len()];
                if let Some(place) = mutated.get(span.start as usize..span.end as usize)
                    && place == span.text(&text)
                {
                    let (start, end) = (span.start as usize, span.end as usize);
                    mutated.replace_range(start..end, word);
                }
            }
            if compare(&name, &mutated, options, 1 + count % 3) {
                compared += 1;
                let parsed = parse(&mutated);
                wrong += usize::from(!resolve(&parsed.module, &mutated, options).1.is_empty());
            }
        }
    }
    assert!(compared > 100 && wrong > 50, "{compared} compared, {wrong} wrong");
}

#[test]
fn what_bodies_say_about_the_module_is_put_together() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n\
        .extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n\
        .global .u32 early;\n\
        .func f(.param .b32 a)\n{\n.reg .b32 %r<3>;\n.shared .align 8 .b8 s[64];\nld.global.u32 %r1, [early];\nret;\n}\n\
        .entry k(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n{\n.param .b32 q;\nst.param.b32 [q], 1;\ncall f, (q);\n}\nmov.u64 %rd1, early;\nret;\n}\n\
        .global .u64 late = early;\n\
        .entry l()\n{\n.reg .b64 %rd<3>;\nld.global.u64 %rd1, [late];\nret;\n}\n";
    assert!(compare("clean", text, Options::default(), 2));
    // A name that is declared further down is not known yet, on any thread.
    let wrong = text.replace("[early]", "[late]");
    assert!(compare("wrong", &wrong, Options::default(), 2));
    assert_eq!(resolve_outline(&wrong, Options::default(), Locals::Few, 2).unwrap().diagnostics.len(), 1);
}

#[test]
fn what_cannot_be_read_in_parts_is_read_as_a_whole() {
    let head = ".version 8.0\n.target sm_90\n.address_size 64\n";
    for (why, text) in [
        ("an error of the grammar", ".entry k()\n{\nret\n}\n"),
        ("a body on one line", ".entry k() { ret; }\n"),
        ("a body without an end", ".entry k()\n{\nret;\n"),
        ("a brace that only seems to be the end", ".entry k()\n{\n{\n}\n.global .u32 x;\nret;\n}\n"),
        ("a brace in a comment", ".entry k()\n{\n/*\n}\n.global */ ret;\n}\n"),
        (
            "a declaration in a body",
            ".func f();\n.entry k()\n{\n.func f();\nret;\n}\n.func f()\n{\nret;\n}\n",
        ),
        (
            "a variable declared twice",
            ".extern .global .u32 x;\n.entry k()\n{\nret;\n}\n.visible .global .u32 x;\n",
        ),
    ] {
        assert!(
            resolve_outline(&format!("{head}{text}"), Options::default(), Locals::Few, 1).is_none(),
            "{why}"
        );
    }
}
