//! How much memory the values of a script take.
//!
//! The engine asks for each piece here, so that a refusal is remembered: it cannot always say
//! itself that it ran out, since saying so takes memory too.
#![allow(unsafe_code)] // the engine's allocator is an unsafe trait; every piece is made and freed by the engine's own

use std::cell::Cell;
use std::ptr;
use std::rc::Rc;

use rquickjs::allocator::{Allocator, RustAllocator};

/// What is left for the words about having run out.
const LAST_WORDS: usize = 4 << 20;

/// What is in use, and what may be.
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

    /// Sets how much the script may have on top of what is in use now.
    pub(super) fn allow(&self, more: usize) {
        self.limit.set(self.used.get().saturating_add(more));
    }

    /// Whether something was refused.
    pub(super) fn refused(&self) -> bool {
        self.refused.get()
    }

    /// A little more, once, to say what happened.
    pub(super) fn last_words(&self) {
        self.limit.set(self.limit.get().saturating_add(LAST_WORDS));
    }

    /// Counts `bytes` that are kept for the script outside the engine; `false` if there is no room.
    pub(super) fn hold(&self, bytes: usize) -> bool {
        let room = self.has_room(bytes);
        if room {
            self.took(bytes);
        }
        room
    }

    /// Those bytes are no longer kept.
    pub(super) fn release(&self, bytes: usize) {
        self.gave(bytes);
    }

    fn has_room(&self, more: usize) -> bool {
        let wanted = self.used.get().saturating_add(more);
        let room = wanted <= self.limit.get() && more <= isize::MAX as usize / 2;
        if !room {
            self.refused.set(true);
        }
        room
    }

    fn took(&self, size: usize) {
        self.used.set(self.used.get().saturating_add(size));
    }

    fn gave(&self, size: usize) {
        self.used.set(self.used.get().saturating_sub(size));
    }
}

/// The allocator of the engine.
pub(super) struct Metered(pub(super) Rc<Meter>);

// SAFETY: every piece comes from `RustAllocator`, which keeps these promises; this only counts, and
// answers null where the engine expects that memory may be short.
unsafe impl Allocator for Metered {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if !self.0.has_room(size) {
            return ptr::null_mut();
        }
        self.counted(RustAllocator.alloc(size))
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let Some(total) = count.checked_mul(size) else {
            return ptr::null_mut();
        };
        if !self.0.has_room(total) {
            return ptr::null_mut();
        }
        self.counted(RustAllocator.calloc(count, size))
    }

    unsafe fn dealloc(&mut self, piece: *mut u8) {
        // SAFETY: the caller promises that the piece is one of ours.
        unsafe {
            self.0.gave(RustAllocator::usable_size(piece));
            RustAllocator.dealloc(piece);
        }
    }

    unsafe fn realloc(&mut self, piece: *mut u8, size: usize) -> *mut u8 {
        if piece.is_null() {
            return self.alloc(size);
        }
        // SAFETY: the caller promises that the piece is one of ours.
        let before = unsafe { RustAllocator::usable_size(piece) };
        if !self.0.has_room(size.saturating_sub(before)) {
            return ptr::null_mut();
        }
        // SAFETY: as above; on null the old piece is still whole.
        let moved = unsafe { RustAllocator.realloc(piece, size) };
        if !moved.is_null() {
            self.0.gave(before);
        }
        self.counted(moved)
    }

    unsafe fn usable_size(piece: *mut u8) -> usize {
        // SAFETY: the caller promises that the piece is one of ours.
        unsafe { RustAllocator::usable_size(piece) }
    }
}

impl Metered {
    fn counted(&self, piece: *mut u8) -> *mut u8 {
        if piece.is_null() {
            self.0.refused.set(true);
        } else {
            // SAFETY: it was made a moment ago by the same allocator.
            self.0.took(unsafe { RustAllocator::usable_size(piece) });
        }
        piece
    }
}
