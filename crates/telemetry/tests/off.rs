//! What telemetry costs while it is off. In a program of its own, because the allocator is the program's.
#![allow(unsafe_code, reason = "counting allocations needs an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use http::HeaderMap;
use manyhands_telemetry::{SpanKind, TraceContext, carry, inject_headers, is_on, span, within};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every request is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What one call does: a span around a future that sends a request, in a task of its own.
fn trace_a_call(headers: &mut HeaderMap) -> u32 {
    let mut span = span(SpanKind::Internal, || black_box("execute_tool").to_owned());
    let work = span.run(carry(async {
        inject_headers(headers);
        black_box(7)
    }));
    let outer = pin!(within(TraceContext::of_headers(&HeaderMap::new()), work));
    let Poll::Ready(result) = outer.poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("nothing is waited for")
    };
    span.describe(|span| {
        span.set("manyhands.call.id", black_box(result).to_string());
    });
    span.fail("cancelled");
    result
}

#[test]
fn a_call_costs_no_allocation_while_telemetry_is_off() {
    assert!(!is_on());
    let mut headers = HeaderMap::new();
    let before = ALLOCATIONS.get();
    for _ in 0..1_000 {
        assert_eq!(trace_a_call(&mut headers), 7);
    }
    assert_eq!(ALLOCATIONS.get(), before);
    assert!(headers.is_empty());
    drop(black_box(vec![1]));
    assert_eq!(ALLOCATIONS.get(), before + 1, "allocations are counted");
}
