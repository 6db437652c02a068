// Shared with the protocols of `@millrace/tools`, and not for anyone else.
export { derivedId, findThread, onBodyEnd } from '../protocols/index.ts'
export { callers } from './callers.ts'
export { mountProtocols } from './mount.ts'
export { readServerOptions, serverTable } from './options.ts'
