// How long to wait before the next attempt: longer each time, and never the same for everybody, so
// that a gateway that comes back is not met by all at once.

export class Backoff {
  #failures = 0;

  constructor(
    private readonly first = 300,
    private readonly most = 5_000,
    private readonly random: () => number = Math.random,
  ) {}

  /** Milliseconds to wait after one more failure. */
  next(): number {
    const whole = Math.min(this.most, this.first * 2 ** Math.min(this.#failures, 20));
    this.#failures += 1;
    return Math.round(whole / 2 + (whole / 2) * this.random());
  }

  /** It worked: the next wait is short again. */
  reset(): void {
    this.#failures = 0;
  }
}
