export type { DetectOptions } from './detect.ts'
export { detectModel } from './detect.ts'
export { fallback } from './fallback.ts'

export { fromGenerate } from './from-generate.ts'
export type { RateLimitOptions } from './rate-limited.ts'
export { rateLimited } from './rate-limited.ts'
export { failureOf } from './wire/failures.ts'
export type { Fetch } from './wire/http-response.ts'
export {
  isSafeToShow,
  secretsIn,
  secretsInUrl,
  withoutRequestSecrets,
  withoutSecrets,
} from './wire/secrets.ts'
