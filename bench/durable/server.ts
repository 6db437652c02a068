import { answer, configOf, heldBytes, usage } from '../harness/answer.ts'
import { lateness } from '../harness/late.ts'
import type { WayConfig } from './ways.ts'

// The measured server, in its own process. Loads only its own way.

export interface ServerConfig extends WayConfig {
  readonly file: string
}

const { file, ...config } = configOf<ServerConfig>()
let late: ReturnType<typeof lateness> | undefined

const asked = {
  /** Since the last question. Watched from the first one on: a process at rest must be at rest. */
  late() {
    late ??= lateness(5)
    return late()
  },
  held: heldBytes,
  async open() {
    const way: { open(config: WayConfig): Promise<string> } = await import(`./ways/${file}.ts`)
    return way.open(config)
  },
  usage: usage(),
}
export type ServerAnswers = typeof asked
answer(asked)
