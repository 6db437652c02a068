export { eventHandler } from './handlers.ts'
export type { LogFields, LogLevel } from './logs/line.ts'
export type { Logger, LogsOptions } from './logs.ts'
export { logs } from './logs.ts'
