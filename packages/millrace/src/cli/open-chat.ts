import { invalidInput } from '../protocol/index.ts'
import { asidesOn } from './asides.ts'
import { chat } from './chat/index.ts'
import { dataPath } from './data.ts'
import type { Flags } from './flags.ts'
import { resumeHint } from './hints.ts'
import { openModel } from './models.ts'
import type { Output } from './output.ts'
import { newId, openTalk } from './talk.ts'
import { verboseLogs } from './verbose.ts'

/** A chat in the terminal, with the thread and the agent that the flags name. */
export async function openChat(flags: Flags, output: Output): Promise<number> {
  const own = (['timeout', 'quiet'] as const).find((name) => flags[name] !== undefined)
  if (own) throw invalidInput('millrace', `--${own} is for a question, and there is none`)
  let tell: ((problem: unknown) => void) | undefined
  const asides = asidesOn(output)
  asides.hold()
  const { app, thread, here, agent } = await openTalk(flags, {
    telemetry: verboseLogs(flags, asides),
    onError: (problem) => tell?.(problem),
  })
  const model = here && {
    name: () => `${here.model.provider}/${here.model.id}`,
    use: async (name: string) => here.model.use((await openModel(name)).model),
  }
  try {
    return await chat({
      app,
      thread: thread.id,
      agent,
      newId,
      model,
      tools: here?.tools,
      notices: here?.notices,
      historyFile: `${dataPath(flags.data)}.history`,
      resumeHint: (id) => resumeHint(id, flags),
      onListen(listener) {
        tell = listener
      },
      asides: asides.take,
    })
  } finally {
    asides.release()
    await app.close({ graceMs: 0 })
  }
}
