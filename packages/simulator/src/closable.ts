// Those who compile for an older JavaScript have no `Symbol.asyncDispose` unless this asks for it.
/// <reference lib="esnext.disposable" preserve="true" />

/** Something that is open until it is closed: by hand, or by `await using` at the end of its block. */
export interface Closable {
  /** Ends everything at once, also what hangs. May be called twice. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}
