//! How a phone reaches the gateway: its address, and a QR code of a link.

use std::io::IsTerminal;
use std::net::{IpAddr, UdpSocket};

use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use url::{Host, Url};

use crate::own_gateway;
use manyhands_terminal::output::Failure;

/// How a phone reaches the gateway.
#[derive(Debug, PartialEq, Eq)]
pub enum Phone {
    /// At this URL.
    At(String),
    /// At this port of an address that could not be determined.
    Unknown(u16),
    /// Not at all: it listens on loopback.
    OnlyHere,
}

/// Determines how a phone reaches a gateway that listens on `listens`.
pub fn reach(listens: &str, public_url: Option<&str>) -> Phone {
    reach_from(listens, public_url, local_address())
}

fn reach_from(listens: &str, public_url: Option<&str>, local: Option<IpAddr>) -> Phone {
    if let Some(public) = public_url {
        return Phone::At(public.trim_end_matches('/').to_owned());
    }
    let Some(mut url) = own_gateway::origin(listens) else {
        return Phone::OnlyHere;
    };
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        _ => return Phone::OnlyHere,
    };
    if address.is_loopback() {
        return Phone::OnlyHere;
    }
    if address.is_unspecified() {
        let Some(local) = local else {
            return Phone::Unknown(url.port_or_known_default().unwrap_or_default());
        };
        let _ = url.set_ip_host(local); // an address with a host takes another
    }
    Phone::At(text(&url))
}

fn text(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

/// The address of this machine in its network.
fn local_address() -> Option<IpAddr> {
    // Connecting a datagram socket sends nothing: the kernel only chooses the address it would send from.
    let socket = UdpSocket::bind(("0.0.0.0", 0)).ok()?;
    socket.connect(("192.0.2.1", 9)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

/// The QR code of a link, in half blocks.
pub fn code(link: &str) -> Result<String, Failure> {
    let code = QrCode::new(link).map_err(|e| Failure(format!("cannot encode {link}: {e}")))?;
    let blocks = code.render::<Dense1x2>();
    // Scanners expect dark on light. A terminal can be told its colours; elsewhere it is assumed to be dark.
    if !std::io::stdout().is_terminal() {
        let light_on_dark = (Dense1x2::Light, Dense1x2::Dark);
        let mut blocks = blocks;
        return Ok(blocks
            .dark_color(light_on_dark.0)
            .light_color(light_on_dark.1)
            .build()
            + "\n");
    }
    let mut text = String::new();
    for line in { blocks }.build().lines() {
        text.push_str(&format!("\u{1b}[30;107m{line}\u{1b}[0m\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_reaches_what_listens_beyond_this_machine() {
        let local = Some(IpAddr::from([192, 168, 1, 5]));
        for (listens, public, local, expect) in [
            ("http://127.0.0.1:7717", None, local, Phone::OnlyHere),
            ("http://[::1]:7717", None, local, Phone::OnlyHere),
            (
                "http://127.0.0.1:7717",
                Some("https://hands.example/"),
                local,
                Phone::At("https://hands.example".to_owned()),
            ),
            (
                "https://0.0.0.0:7717",
                None,
                local,
                Phone::At("https://192.168.1.5:7717".to_owned()),
            ),
            (
                "https://[::]:7717",
                None,
                local,
                Phone::At("https://192.168.1.5:7717".to_owned()),
            ),
            ("https://0.0.0.0:7717", None, None, Phone::Unknown(7717)),
            (
                "https://10.0.0.5:7717",
                None,
                local,
                Phone::At("https://10.0.0.5:7717".to_owned()),
            ),
        ] {
            assert_eq!(reach_from(listens, public, local), expect, "{listens}");
        }
    }

    #[test]
    fn a_code_is_a_square_with_a_quiet_zone() {
        let code = code("https://192.168.1.5:7717/login#code=abcdefgh").unwrap();
        let lines: Vec<&str> = code.lines().collect();
        let width = lines[0].chars().count();
        assert!(lines.iter().all(|line| line.chars().count() == width));
        assert_eq!(lines.len(), width.div_ceil(2));
        // Light, as nothing of the code is in the four modules around it.
        assert!(
            lines[..2].iter().all(|line| line.chars().all(|c| c == '█')),
            "{code}"
        );
    }
}
