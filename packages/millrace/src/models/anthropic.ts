export type { CacheTime } from './anthropic/cache-marks.ts'
export type { AnthropicExtra, AnthropicOptions } from './anthropic/model.ts'
export { anthropic } from './anthropic/model.ts'
