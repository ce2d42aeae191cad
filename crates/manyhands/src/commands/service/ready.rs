//! Waiting for a gateway to become ready.

use std::time::Duration;

use manyhands_guard::{Egress, FetchLimits, HeaderMap, Method};
use manyhands_store::HomeLock;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::{FOREGROUND, Installed};
use crate::context::CliContext;
use crate::own_gateway;
use manyhands_service_manager::{Activity, Unit};
use manyhands_terminal::output::Failure;

/// Time limit of one request.
const PROBE: Duration = Duration::from_secs(5);
/// Pause between requests.
const PAUSE: Duration = Duration::from_millis(100);
/// Log lines shown when it does not start.
const LAST_LINES: u32 = 10;

/// Whether a gateway answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// `/readyz` says that it is ready.
    Ready,
    /// It does not answer, or says that it is not ready.
    NotYet,
}

impl Readiness {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::NotYet => "not ready",
        }
    }
}

/// Asks the gateway at `url` whether it is ready.
pub async fn probe(url: &str) -> Readiness {
    let limits = FetchLimits {
        total_timeout: Some(PROBE),
        ..FetchLimits::default()
    };
    let Ok(client) = Egress::gateway(url) else {
        return Readiness::NotYet;
    };
    let asked = client.fetch(Method::GET, "/readyz", HeaderMap::new(), None, limits);
    let is_ready = match asked.await {
        Ok(answer) => answer.status.as_u16() == 200,
        // A certificate is for the gateway's name, and this is its address: that it accepts connections has to do.
        Err(_) if url.starts_with("https://") => accepts(url).await,
        Err(_) => false,
    };
    match is_ready {
        true => Readiness::Ready,
        false => Readiness::NotYet,
    }
}

async fn accepts(url: &str) -> bool {
    let Some(url) = own_gateway::origin(url) else {
        return false;
    };
    let Ok(Some(address)) = url
        .socket_addrs(|| None)
        .map(|found| found.first().copied())
    else {
        return false;
    };
    let connected = tokio::time::timeout(PROBE, TcpStream::connect(address)).await;
    matches!(connected, Ok(Ok(_)))
}

/// Waits until the service's gateway answers on `/readyz`; returns its URL. If the service fails, or is not ready
/// in `seconds`, the error ends with its last log lines.
pub async fn wait_until_ready(service: &Installed<'_>, seconds: u64) -> Result<String, Failure> {
    let until = Instant::now() + Duration::from_secs(seconds);
    loop {
        if let Some(url) = service.ctx.running()
            && probe(&url).await == Readiness::Ready
        {
            return Ok(url);
        }
        let state = service.unit.state().await?;
        let why = match state.activity {
            // It may have ended between the probe and this look, and be started again.
            Activity::Failed | Activity::Stopped if service.ctx.running().is_none() => {
                Some(format!("the gateway did not start: {}", state.text))
            }
            _ if Instant::now() >= until => Some(format!(
                "the gateway was not ready within {seconds} seconds: {}",
                state.text
            )),
            _ => None,
        };
        if let Some(why) = why {
            return Err(Failure(format!("{why}\n{}", last_lines(service).await)));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn last_lines(service: &Installed<'_>) -> String {
    let log = service.unit.logs(&service.log_file(), LAST_LINES).await;
    let lines = log.unwrap_or_else(|failure| failure.0);
    let lines: Vec<String> = lines.lines().map(|line| format!("  {line}")).collect();
    format!(
        "last log lines:\n{}\nhint: `{}` shows more",
        lines.join("\n"),
        service.logs_command()
    )
}

/// Fails if a gateway runs on the home although the service does not: it would hold the lock.
pub async fn refuse_foreground(unit: &Unit<'_>, ctx: &CliContext) -> Result<(), Failure> {
    let Some(holder) = HomeLock::holder(&ctx.home) else {
        return Ok(());
    };
    if unit.is_installed() && unit.state().await?.activity == Activity::Running {
        return Ok(());
    }
    Err(Failure(format!(
        "a gateway already runs on {} in the foreground: {holder}\n\
         hint: stop it there (`{FOREGROUND}`, or `kill {}`), then repeat this",
        ctx.home.display(),
        holder.pid
    )))
}
