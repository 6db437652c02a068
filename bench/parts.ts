import { commandsPart } from './commands/part.ts'
import { serverPart } from './durable/part.ts'
import { gatewayPart } from './gateway/part.ts'
import type { AnyPart } from './harness/part.ts'
import { loadPart } from './load/part.ts'
import { pagePart } from './page/part.ts'
import { telemetryPart } from './telemetry/part.ts'
import { uiStreamPart } from './ui-stream/part.ts'
import { voicePart } from './voice/part.ts'
import { clientsPart } from './workloads/part.ts'

export const parts: readonly AnyPart[] = [
  clientsPart,
  commandsPart,
  gatewayPart,
  loadPart,
  pagePart,
  serverPart,
  telemetryPart,
  uiStreamPart,
  voicePart,
]
