import { invalidInput } from '../protocol/index.ts'
import { chat } from './chat/index.ts'
import { newId, openConversation } from './conversation.ts'
import { dataPath } from './data.ts'
import type { Flags } from './flags.ts'
import { resumeHint } from './hints.ts'
import { logLinesOn } from './log-lines.ts'
import { openModel } from './models.ts'
import type { Output } from './output.ts'
import { storeAddress } from './store-address.ts'
import { verboseLogs } from './verbose.ts'

/** Opens a chat in the terminal, with the thread and the agent configured by the flags. */
export async function openChat(flags: Flags, output: Output): Promise<number> {
  const own = (['timeout', 'quiet'] as const).find((name) => flags[name] !== undefined)
  if (own) throw invalidInput('millrace', `--${own} only works with a question, not in a chat`)
  let reportError: ((error: unknown) => void) | undefined
  const asides = logLinesOn(output)
  asides.hold()
  const { app, thread, local, agent } = await openConversation(flags, {
    telemetry: verboseLogs(flags, asides),
    onLimit: 'ask',
    onError: (error) => reportError?.(error),
  })
  const model = local && {
    name: () => `${local.model.provider}/${local.model.id}`,
    use: async (name: string) => local.model.use((await openModel(name)).model),
  }
  try {
    return await chat({
      app,
      thread: thread.id,
      agent,
      newId,
      model,
      tools: local?.tools,
      notices: local?.notices,
      historyFile: historyFile(flags),
      resumeHint: (id) => resumeHint(id, flags),
      onReady(report) {
        reportError = report
      },
      takeLogLines: asides.take,
    })
  } finally {
    asides.release()
    await app.close({ graceMs: 0 })
  }
}

/** Next to the database file; for PostgreSQL, where the file would be by default. */
function historyFile(flags: Flags): string {
  const address = storeAddress(flags)
  return `${address.kind === 'sqlite' ? address.path : dataPath(undefined)}.history`
}
