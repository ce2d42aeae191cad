//! The parts of the web platform that a script has.

use crate::stage::{check, fault};
use manyhands_script::FaultKind;
use serde_json::json;

#[tokio::test]
async fn addresses_are_parsed_and_changed_as_browsers_do() {
    check(
        "const u = new URL('../b c?x=1&y=ä#top', 'HTTPS://User:pw@EXAMPLE.com:443/a/d/');
         const before = [u.href, u.origin, u.protocol, u.username, u.password, u.host, u.port, u.pathname, u.search, u.hash];
         u.searchParams.append('z', 'q&r'); u.port = '8080'; u.hash = ''; u.pathname = '/n'; u.port = 'no';
         return [before, u.href, String(u), JSON.stringify({u}), `${new URL('//h/', u)}`, u instanceof URL]",
        json!([
            [
                "https://User:pw@example.com/a/b%20c?x=1&y=%C3%A4#top",
                "https://example.com",
                "https:",
                "User",
                "pw",
                "example.com",
                "",
                "/a/b%20c",
                "?x=1&y=%C3%A4",
                "#top"
            ],
            "https://User:pw@example.com:8080/n?x=1&y=%C3%A4&z=q%26r",
            "https://User:pw@example.com:8080/n?x=1&y=%C3%A4&z=q%26r",
            "{\"u\":\"https://User:pw@example.com:8080/n?x=1&y=%C3%A4&z=q%26r\"}",
            "https://h/",
            true
        ]),
    )
    .await;
    check(
        "const wrong = [];
         for (const [u, b] of [['nowhere'], [''], ['http://'], ['/a', 'b'], ['http://a:99999']]) {
           try { new URL(u, b); wrong.push(u) } catch (e) { if (!(e instanceof TypeError && e.message.startsWith('Invalid URL'))) wrong.push(e) }
         }
         return [wrong, URL.canParse('a:b'), URL.canParse('x'), URL.parse('x'), URL.parse('/y', 'http://h').href]",
        json!([[], true, false, null, "http://h/y"]),
    )
    .await;
}

#[tokio::test]
async fn queries_are_read_and_written() {
    check(
        "const p = new URLSearchParams('?a=1&b=2&a=3&c=%20+%2B');
         const read = [p.get('a'), p.getAll('a'), p.get('c'), p.get('none'), p.has('b', '3'), p.size, [...p.keys()].join('')];
         p.set('a', '9'); p.delete('b'); p.append('é', '&'); p.sort();
         const u = new URL('http://h/?q=1'); u.searchParams.set('q', '2'); u.search = '?r=3';
         return [read, String(p), String(new URLSearchParams({x: 1, y: 'a b'})), String(new URLSearchParams([['k', 'v']])),
           u.href, u.searchParams.get('r'), u.searchParams.get('q')]",
        json!([
            ["1", ["1", "3"], "  +", null, false, 4, "abac"],
            "a=9&c=++%2B&%C3%A9=%26",
            "x=1&y=a+b",
            "k=v",
            "http://h/?r=3",
            "3",
            null
        ]),
    )
    .await;
    let error = fault("new URLSearchParams([['a']])", FaultKind::Thrown).await;
    assert!(error.message.contains("a name and a value"), "{error:?}");
}

#[tokio::test]
async fn text_and_bytes_become_each_other_in_common_encodings() {
    check(
        "const bytes = new TextEncoder().encode('aé€🎉\\ud800');
         const into = new Uint8Array(4); const did = new TextEncoder().encodeInto('aé€', into);
         const parts = new TextDecoder(); let joined = '';
         for (const byte of new TextEncoder().encode('é€')) joined += parts.decode(new Uint8Array([byte]), { stream: true });
         joined += parts.decode();
         let fatal; try { new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255])) } catch (e) { fatal = e.name }
         let label; try { new TextDecoder('klingon') } catch (e) { label = e.name }
         return [[...bytes], did, new TextDecoder().decode(bytes), new TextDecoder('latin1').decode(new Uint8Array([233])),
           new TextDecoder('utf-16le').decode(new Uint16Array([233, 8364])), new TextDecoder('shift_jis').decode(new Uint8Array([0x82, 0xa0])),
           joined, fatal, label, new TextDecoder().decode(new Uint8Array([239, 187, 191, 97])).length, new TextDecoder('l1').encoding]",
        json!([
            [97, 195, 169, 226, 130, 172, 240, 159, 142, 137, 239, 191, 189],
            { "read": 2, "written": 3 },
            "aé€🎉\u{fffd}",
            "é",
            "é€",
            "あ",
            "é€",
            "TypeError",
            "RangeError",
            1,
            "windows-1252"
        ]),
    )
    .await;
}

#[tokio::test]
async fn base64_is_read_and_written_and_wrong_text_is_refused() {
    check(
        "const all = String.fromCharCode(...Array(256).keys());
         const round = ['', 'a', 'ab', 'abc', all].every((text) => atob(btoa(text)) === text);
         const errors = [];
         for (const call of [() => btoa('€'), () => atob('a'), () => atob('ab=c'), () => atob('a*bc'), () => atob('====')]) {
           try { errors.push(call()) } catch (e) { errors.push(e.name) }
         }
         return [round, btoa('hello'), atob(' aGVs\\nbG8 '), atob('YQ'), errors]",
        json!([
            true,
            "aGVsbG8=",
            "hello",
            "a",
            vec!["InvalidCharacterError"; 5]
        ]),
    )
    .await;
}

#[tokio::test]
async fn a_structured_clone_keeps_types_shares_and_cycles() {
    check(
        "const shared = [1]; const from = { date: new Date(5), map: new Map([['k', shared]]), set: new Set([shared]), re: /a/gi,
           bytes: new Uint16Array([1, 2]).subarray(1), big: 1n, error: new RangeError('no'), none: undefined, list: [, 1], text: Object('s') };
         from.self = from;
         const to = structuredClone(from);
         const errors = [];
         for (const bad of [() => 1, Symbol('s'), { a: { f() {} } }, Promise.resolve()]) {
           try { structuredClone(bad) } catch (e) { errors.push(e.name) }
         }
         return [to !== from, to.self === to, to.date instanceof Date && to.date.getTime(), to.map.get('k') === [...to.set][0],
           to.map.get('k') !== shared, to.re.flags, [...to.bytes], to.big === 1n, to.error instanceof RangeError && to.error.message,
           'none' in to, 0 in to.list, to.list.length, String(to.text), errors]",
        json!([true, true, 5, true, true, "gi", [2], true, "no", true, false, 2, "s", vec!["DataCloneError"; 4]]),
    )
    .await;
}

#[tokio::test]
async fn ids_are_random() {
    check(
        "const ids = Array.from({ length: 50 }, () => crypto.randomUUID());
         return [new Set(ids).size, ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))]",
        json!([50, true]),
    )
    .await;
}

#[tokio::test]
async fn a_script_may_have_names_of_its_own_for_them() {
    check(
        "globalThis.URL = 7; const atob = 1; return [URL, atob, typeof crypto, 'btoa' in globalThis]",
        json!([7, 1, "object", true]),
    )
    .await;
}

#[tokio::test]
async fn values_without_json_are_named_with_their_path() {
    for (code, message) in [
        (
            "return { a: { b: 10n } }",
            "a BigInt cannot be returned as JSON at `a.b`: convert it with Number() or String()",
        ),
        (
            "return 1n",
            "a BigInt cannot be returned as JSON: convert it with Number() or String()",
        ),
        (
            "return [new Map([['k', new Set([1, 2n])]])]",
            "a BigInt cannot be returned as JSON at `[0].k[\"1\"]`: convert it with Number() or String()",
        ),
        (
            "const a = { list: [{}] }; a.list[0].back = a.list; return a",
            "a value that refers to itself cannot be returned as JSON at `list[0].back`: leave that reference out",
        ),
    ] {
        let fault = fault(code, FaultKind::Output).await;
        assert_eq!(fault.message, message, "{code}");
    }
    check(
        "const x = { n: 1 }; return [x, x]",
        json!([{ "n": 1 }, { "n": 1 }]),
    )
    .await;
}
