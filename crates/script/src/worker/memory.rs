//! Meters the memory of a script's values.
//!
//! The engine allocates through this, so that a refusal is remembered: the engine cannot always report that it ran out,
//! because that takes memory, too.
#![allow(unsafe_code)] // the engine's allocator is an unsafe trait; all memory is allocated and freed by the engine's own

use std::cell::Cell;
use std::ptr;
use std::rc::Rc;

use rquickjs::allocator::{Allocator, RustAllocator};

/// Reserve for reporting that memory ran out.
const REPORT_RESERVE: usize = 4 << 20;

/// Memory in use, and its limit.
#[derive(Debug)]
pub(super) struct Meter {
    used: Cell<usize>,
    limit: Cell<usize>,
    refused: Cell<bool>,
}

impl Meter {
    pub(super) fn new(limit: usize) -> Rc<Self> {
        Rc::new(Self {
            used: Cell::new(0),
            limit: Cell::new(limit),
            refused: Cell::new(false),
        })
    }

    /// Sets the limit to the memory in use plus `more`.
    pub(super) fn allow(&self, more: usize) {
        self.limit.set(self.used.get().saturating_add(more));
    }

    /// Returns whether an allocation was refused.
    pub(super) fn refused(&self) -> bool {
        self.refused.get()
    }

    /// Raises the limit once, to report what happened.
    pub(super) fn allow_report(&self) {
        self.limit
            .set(self.limit.get().saturating_add(REPORT_RESERVE));
    }

    /// Counts memory used for the script outside of the engine; `false` if there is no room.
    pub(super) fn hold(&self, bytes: usize) -> bool {
        let room = self.fits(bytes);
        if room {
            self.took(bytes);
        }
        room
    }

    /// Releases such memory.
    pub(super) fn release(&self, bytes: usize) {
        self.record_allocation(bytes);
    }

    fn fits(&self, more: usize) -> bool {
        let requested = self.used.get().saturating_add(more);
        // Rust allocations may not exceed `isize::MAX`, and the engine sometimes doubles a size.
        let room = requested <= self.limit.get() && more <= isize::MAX as usize / 2;
        if !room {
            self.refused.set(true);
        }
        room
    }

    fn took(&self, size: usize) {
        self.used.set(self.used.get().saturating_add(size));
    }

    fn record_allocation(&self, size: usize) {
        self.used.set(self.used.get().saturating_sub(size));
    }
}

/// The engine's allocator.
pub(super) struct MeteredAllocator(pub(super) Rc<Meter>);

// SAFETY: all memory comes from `RustAllocator`, which upholds the contract; this only counts, and returns null where the
// engine expects that memory may run out.
unsafe impl Allocator for MeteredAllocator {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if !self.0.fits(size) {
            return ptr::null_mut();
        }
        self.counted(RustAllocator.alloc(size))
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let Some(total) = count.checked_mul(size) else {
            return ptr::null_mut();
        };
        if !self.0.fits(total) {
            return ptr::null_mut();
        }
        self.counted(RustAllocator.calloc(count, size))
    }

    unsafe fn dealloc(&mut self, block: *mut u8) {
        // SAFETY: the caller promises that the pointer is ours.
        unsafe {
            self.0.record_allocation(RustAllocator::usable_size(block));
            RustAllocator.dealloc(block);
        }
    }

    unsafe fn realloc(&mut self, block: *mut u8, size: usize) -> *mut u8 {
        if block.is_null() {
            return self.alloc(size);
        }
        // SAFETY: the caller promises that the pointer is ours.
        let before = unsafe { RustAllocator::usable_size(block) };
        if !self.0.fits(size.saturating_sub(before)) {
            return ptr::null_mut();
        }
        // SAFETY: as above; on null the old allocation is still valid.
        let moved = unsafe { RustAllocator.realloc(block, size) };
        if !moved.is_null() {
            self.0.record_allocation(before);
        }
        self.counted(moved)
    }

    unsafe fn usable_size(block: *mut u8) -> usize {
        // SAFETY: the caller promises that the pointer is ours.
        unsafe { RustAllocator::usable_size(block) }
    }
}

impl MeteredAllocator {
    fn counted(&self, block: *mut u8) -> *mut u8 {
        if block.is_null() {
            self.0.refused.set(true);
        } else {
            // SAFETY: just allocated by the same allocator.
            self.0.took(unsafe { RustAllocator::usable_size(block) });
        }
        block
    }
}
