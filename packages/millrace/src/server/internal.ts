// What an MCP server shares with the server of `millrace/server`, for `@millrace/tools` alone.
export { onBodyEnd } from '../protocols/index.ts'
export { mountProtocols } from './mount.ts'
export { readServerOptions, serverTable } from './options.ts'
export { visitors } from './visitors.ts'
