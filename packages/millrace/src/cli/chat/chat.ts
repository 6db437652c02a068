import type { ReadStream, WriteStream } from 'node:tty'
import type { OptionTable } from '../../protocol/index.ts'
import { aFunction, anObject, anything, checkOptions, messageOf, someText } from '../../protocol/index.ts'
import type { App } from '../../threads/index.ts'
import { wantsColor } from '../colors.ts'
import { cleanLine } from '../terminal/index.ts'
import type { ChatModel, CommandContext, ToolSummary } from './commands.ts'
import { isCommand, runCommand } from './commands.ts'
import { openHistory } from './history.ts'
import { lineUi } from './line-ui.ts'
import { screenUi } from './screen-ui.ts'
import { openSession } from './session.ts'
import type { ChatUi, UserActions } from './ui.ts'

export interface ChatOptions {
  /** Stays open: closing it is up to the caller. */
  readonly app: App
  /** The id of a thread to continue or to create. A new thread if absent. */
  readonly thread?: string | undefined
  /** The agent of a new thread. The app's first agent if absent. */
  readonly agent?: string | undefined
  /** Makes the ids of new threads. */
  readonly newId?: (() => string) | undefined
  readonly model?: ChatModel | undefined
  /** The tools that `/tools` lists. */
  readonly tools?: readonly ToolSummary[] | undefined
  /** What the user should know about the tools, shown at the start. */
  readonly notices?: readonly string[] | undefined
  /** The file for the input history. The history is not saved if absent. */
  readonly historyFile?: string | undefined
  /** How to continue the thread, shown at the end. `millrace --thread ID` if absent. */
  readonly resumeHint?: ((threadId: string) => string) | undefined
  /** Called with a function that reports background errors without garbling the screen. */
  readonly onReady?: ((reportError: (error: unknown) => void) => void) | undefined
  /** Returns log lines since the last call, to be shown below the latest run. */
  readonly takeLogLines?: (() => readonly string[]) | undefined
  readonly input?: ReadStream | undefined
  readonly output?: WriteStream | undefined
}

const table: OptionTable<ChatOptions> = {
  app: anObject,
  thread: someText,
  agent: someText,
  newId: aFunction,
  model: anObject,
  tools: (value) => !Array.isArray(value) && 'must be a list of tools',
  notices: anything,
  historyFile: someText,
  resumeHint: aFunction,
  onReady: aFunction,
  takeLogLines: aFunction,
  input: anything,
  output: anything,
}

/**
 * Runs a chat in a terminal until the user leaves. Returns the exit code: 0, 1 if the log can no
 * longer be read, 143 or 129 after a signal. Other clients may use the same thread at the same time;
 * all of them see every message.
 */
export async function chat(options: ChatOptions): Promise<number> {
  checkOptions({ ...options, app: options.app ?? null }, table, { op: 'chat', what: 'the option' })
  const { app, agent, newId, model, tools = [], historyFile } = options
  const { input = process.stdin, output = process.stdout } = options
  const { resumeHint = (id) => `continue with: millrace --thread ${id}` } = options

  const ending = Promise.withResolvers<number>()
  const leave = (code = 0) => ending.resolve(code)
  const enqueue = serialQueue((error) => ui.note(messageOf(error), 'problem'))
  const enqueueStop = serialQueue((error) => ui.note(messageOf(error), 'problem'))
  const user: UserActions = {
    send: (text) => enqueue(() => (isCommand(text) ? command(text) : session.send(text.trim()))),
    stop: () => enqueueStop(() => session.stop()),
    leave: () => leave(),
  }
  const command = (text: string) => {
    ui.echo(text.trim())
    return runCommand(text, context)
  }
  const newThread = (id = newId?.()) => app.thread(id, { agent })
  const session = openSession({
    app,
    newThread: () => newThread(),
    ui: () => ui,
    onEnd(error) {
      if (error !== undefined) ui.note(messageOf(error), 'problem')
      leave(error === undefined ? 0 : 1)
    },
  })
  const first = newThread(options.thread)

  const ui = withLogLines(openUi({ input, output, historyFile, user }), options.takeLogLines)
  const context: CommandContext = { session, ui, model, tools, listedIds: [], leave: () => leave() }
  const removeSignalHandlers = onSignals(leave)
  try {
    options.onReady?.((error) => ui.note(messageOf(error), 'problem'))
    for (const notice of options.notices ?? []) ui.note(cleanLine(notice), 'problem')
    ui.note([agent ?? app.agents[0], model?.name(), '/help'].filter(Boolean).join(' · '), 'dim')
    enqueue(() => session.open(first))
    return await ending.promise
  } finally {
    session.close()
    ui.close()
    removeSignalHandlers()
    if (session.exists) output.write(`${cleanLine(resumeHint(session.thread.id))}\n`)
  }
}

function openUi(options: {
  input: ReadStream
  output: WriteStream
  historyFile: string | undefined
  user: UserActions
}): ChatUi {
  const { input, output, historyFile, user } = options
  if (process.env.TERM === 'dumb' || !input.isTTY || !output.isTTY) return lineUi({ input, output, user })
  const color = wantsColor(output)
  return screenUi({ input, output, color, history: openHistory(historyFile), user })
}

/** Shows the log lines of a run below its last text. They are written before that is shown. */
function withLogLines(ui: ChatUi, takeLogLines: ChatOptions['takeLogLines']): ChatUi {
  if (!takeLogLines) return ui
  return {
    ...ui,
    show(entry) {
      ui.show(entry)
      if (entry.event.type === 'run-end') for (const line of takeLogLines()) ui.note(line, 'dim')
    },
  }
}

/** Runs one action after the other, in order. */
function serialQueue(onError: (error: unknown) => void): (act: () => Promise<void> | void) => void {
  let last = Promise.resolve()
  return (act) => {
    last = last.then(act).catch(onError)
  }
}

const signals = { SIGTERM: 143, SIGHUP: 129 } as const

function onSignals(leave: (code: number) => void): () => void {
  const onSignal = (signal: NodeJS.Signals) => leave(signals[signal as keyof typeof signals])
  const names = Object.keys(signals) as NodeJS.Signals[]
  for (const name of names) process.on(name, onSignal)
  return () => {
    for (const name of names) process.off(name, onSignal)
  }
}
