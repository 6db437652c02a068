// Adds `Symbol.asyncDispose` for users who compile for an older JavaScript.
/// <reference lib="esnext.disposable" preserve="true" />

/** A resource that is closed explicitly, or by `await using` at the end of its block. */
export interface Closable {
  /** Closes everything at once, including hanging connections. May be called twice. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}
