import { agent } from '../agent/index.ts'
import type { MillraceError, Telemetry, ThreadInfo } from '../protocol/index.ts'
import { invalidInput } from '../protocol/index.ts'
import type { App, Thread } from '../threads/index.ts'
import { millrace } from '../threads/index.ts'
import type { Tool } from '../tools/index.ts'
import { noticesOf, toolsIn } from '../tools/index.ts'
import { claimOnlyOwn } from './claims.ts'
import type { Flags } from './flags.ts'
import { openModel } from './models.ts'
import { openStore } from './open-store.ts'
import { cliAgentName, openWithoutAgent, threadNotFound, withStore } from './open-threads.ts'
import { storeAddress } from './store-address.ts'
import type { SwappableModel } from './swappable-model.ts'
import { swappableModel } from './swappable-model.ts'
import { toolsFrom } from './tools-file.ts'

/** A thread, opened for a question or a chat. */
export interface Conversation {
  readonly app: App
  readonly thread: Thread
  /** The agent in this process. Absent if the thread belongs to an agent of a server. */
  readonly local?: {
    readonly model: SwappableModel
    readonly why?: string
    readonly tools: readonly Tool[]
    /** What the user should know about the tools. */
    readonly notices: readonly string[]
  }
  readonly agent: string
  /** Aborted with the error if the log can no longer be written or read. */
  readonly failure: AbortSignal
}

type ConversationFlags = Pick<
  Flags,
  'model' | 'system' | 'tools' | 'max-cost' | 'store' | 'data' | 'thread' | 'new'
>

interface ConversationOptions {
  readonly telemetry: readonly Telemetry[]
  /** What happens when `--max-cost` is reached. Default: `end`. */
  readonly onLimit?: 'end' | 'ask'
  /** Called for errors in the background. If absent, the first one aborts `failure`. */
  readonly onError?: (error: MillraceError) => void
}

/** Opens the thread named by the flags, or a new one, with an agent configured by the other flags. */
export async function openConversation(
  flags: ConversationFlags,
  { telemetry, onLimit = 'end', onError }: ConversationOptions,
): Promise<Conversation> {
  const { thread: id, new: isNew = false } = flags
  const usd = readMaxCost(flags['max-cost'])
  const failing = new AbortController()
  const failure = failing.signal
  const store = await openStore(storeAddress(flags), { mustExist: id !== undefined && !isNew })
  try {
    const info = id === undefined ? undefined : await store.get(id)
    if (id !== undefined && !info && !isNew) throw threadNotFound(id)
    if (info && isNew)
      throw invalidInput('millrace', `thread '${id}' already exists; omit --new to continue it`)
    if (info && info.agent !== cliAgentName) {
      checkFlags(flags, info)
      return { ...openWithoutAgent(store, info), agent: info.agent, failure }
    }
    const { tools, permission } = await toolsFrom(flags.tools)
    const notices = await noticesOf(tools)
    const { model: found, why } = await openModel(flags.model)
    const model = swappableModel(found)
    const app = withStore(
      millrace({
        agents: agent({ name: cliAgentName, model, tools, permission, system: flags.system }),
        store: claimOnlyOwn(store, info ? [info.id] : []),
        telemetry,
        ...(usd !== undefined && { budget: { usd, onLimit } }),
        onError: onError ?? ((error) => failing.abort(error)),
      }),
      store,
    )
    const local = { model, tools: toolsIn(tools), notices, ...(why !== undefined && { why }) }
    return { app, thread: app.thread(id ?? newId()), local, agent: cliAgentName, failure }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The flags that configure an agent have no effect on an agent that runs on a server. */
function checkFlags(flags: ConversationFlags, { id, agent }: ThreadInfo): void {
  const own = (['model', 'system', 'tools', 'max-cost'] as const).find((name) => flags[name] !== undefined)
  if (own)
    throw invalidInput(
      'millrace',
      `--${own} has no effect: thread '${id}' belongs to the agent '${agent}', which is configured by its server`,
    )
}

function readMaxCost(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const usd = Number(text.trim().replace(/^\$/, '') || Number.NaN)
  if (usd > 0 && Number.isFinite(usd)) return usd
  throw invalidInput('millrace', `--max-cost must be an amount in US dollars such as 0.50, not '${text}'`)
}

/** Short enough to type. 51 bits are enough for the threads of one user. */
export function newId(): string {
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'
  const bytes = crypto.getRandomValues(new Uint32Array(10))
  return Array.from(bytes, (byte) => letters[byte % letters.length]).join('')
}
