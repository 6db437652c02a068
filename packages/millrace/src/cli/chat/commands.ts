import { closest, invalidInput } from '../../protocol/index.ts'
import { cleanLine } from '../terminal/index.ts'
import { exportThread } from './export.ts'
import type { Front } from './front.ts'
import type { Session } from './session.ts'
import { listThreads } from './thread-list.ts'

/** What a command has to do with. */
export interface CommandContext {
  readonly session: Session
  readonly front: Front
  readonly model: ChatModel | undefined
  readonly tools: readonly ToolWords[]
  /** The ids that the last list of threads has shown, in its order. */
  listed: readonly string[]
  leave(): void
}

/** The model that answers, and how to have another one. */
export interface ChatModel {
  name(): string
  /** Answers with this one from now on. Rejects if it cannot be had. */
  use?(name: string): Promise<void> | void
}

export interface ToolWords {
  readonly name: string
  readonly description: string
}

interface Command {
  /** What may stand behind it. */
  readonly takes?: string
  readonly says: string
  run(context: CommandContext, argument: string): Promise<void> | void
}

const commands: Readonly<Record<string, Command>> = {
  help: {
    says: 'what can be done here',
    run: ({ front }) => front.note(help()),
  },
  model: {
    takes: '[name]',
    says: 'which model answers, or another one from now on',
    run: chooseModel,
  },
  tools: {
    says: 'what the agent can do',
    run({ front, tools }) {
      const lines = tools.map(({ name, description }) => `${name}: ${cleanLine(description)}`)
      front.note(lines.length > 0 ? lines.join('\n') : 'the agent has no tools')
    },
  },
  threads: {
    takes: '[number]',
    says: 'earlier conversations, or go on with one of them',
    run: chooseThread,
  },
  new: {
    says: 'begin a new conversation',
    async run({ session, front }) {
      await session.open()
      front.note('a new conversation', 'dim')
    },
  },
  fork: {
    takes: '[n]',
    says: 'go on in a copy; with n, one that ends before your n-th last message',
    run: fork,
  },
  stop: {
    says: 'stop the answer (or Esc)',
    run: ({ session }) => session.stop(),
  },
  export: {
    takes: '[file]',
    says: 'write the conversation to a file, as Markdown or .json',
    async run({ session, front }, file) {
      if (!session.exists) return front.note('nothing was said yet')
      front.note(`written to ${await exportThread(session.thread, file)}`)
    },
  },
  exit: {
    says: 'leave (or Ctrl-D)',
    run: ({ leave }) => leave(),
  },
}

const keys = [
  'Enter sends · \\ and Enter, Alt-Enter or Ctrl-J begin a new line · ↑ ↓ what you said before',
  'While an answer comes: Enter queues what you write · Esc or Ctrl-C stops it',
]

function help(): string {
  const left = Object.entries(commands).map(([name, { takes = '' }]) => `/${name} ${takes}`.trimEnd())
  const width = Math.max(...left.map((text) => text.length))
  const lines = Object.values(commands).map(
    ({ says }, index) => `${(left[index] ?? '').padEnd(width)}  ${says}`,
  )
  return [...lines, ...keys].join('\n')
}

/** A line that is a command: `/word`, and perhaps more. A path or a lone slash is not. */
const commandLine = /^\/([a-z]+)(?:\s+(.*))?$/s

export function isCommand(text: string): boolean {
  return commandLine.test(text.trimEnd())
}

/** Carries out a command. Throws `invalid_input` if there is none of that name. */
export async function runCommand(text: string, context: CommandContext): Promise<void> {
  const [, name = '', argument = ''] = commandLine.exec(text.trimEnd()) ?? []
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) {
    const like = closest(name, Object.keys(commands))
    const hint = like ? `did you mean /${like}?` : '/help lists those there are'
    throw invalidInput('chat', `there is no command /${name}: ${hint} To say it, put a space before it.`)
  }
  await command.run(context, argument.trim())
}

/** The commands that a beginning could become. */
export function completions(text: string): string[] {
  const names = Object.keys(commands).map((name) => `/${name}`)
  return text.startsWith('/') ? names.filter((name) => name.startsWith(text)) : []
}

/** A beginning with all that is certain to follow; the same text if that is nothing. */
export function completeCommand(text: string): string {
  const [first, ...others] = completions(text)
  if (first === undefined) return text
  if (others.length === 0) return `${first} `
  let end = text.length
  while (others.every((name) => name[end] !== undefined && name[end] === first[end])) end++
  return first.slice(0, end)
}

async function chooseModel({ front, model, session }: CommandContext, name: string) {
  const current = model?.name() ?? session.state.run?.model
  if (!name) return front.note(current ? `${current} answers` : 'no model has answered yet')
  if (!model?.use) return front.note('the model cannot be changed here', 'problem')
  await model.use(name)
  front.note(`${model.name()} answers from now on`)
}

async function chooseThread(context: CommandContext, choice: string) {
  const { session, front } = context
  if (!choice) {
    const { ids, words } = await listThreads(session)
    context.listed = ids
    return front.note(words)
  }
  const id = /^\d+$/.test(choice) ? context.listed[Number(choice) - 1] : choice
  if (id === undefined) return front.note(`there is no number ${choice}: /threads lists them`, 'problem')
  const thread = session.app.thread(id)
  // Before the one that is open is left.
  await thread.info()
  await session.open(thread)
  front.note(`in the thread ${id}`, 'dim')
}

async function fork({ session, front }: CommandContext, argument: string) {
  if (!session.exists) return front.note('nothing was said yet')
  const { thread, said, state } = session
  const back = argument === '' ? 0 : Number(argument)
  const message = back === 0 ? undefined : said.at(-back)
  if (!Number.isInteger(back) || back < 0 || (back > 0 && !message))
    return front.note(
      `/fork takes a number from 1 to ${said.length}: that of your messages to leave out`,
      'problem',
    )
  const forked = await thread.fork(message ? message.seq - 1 : state.head)
  await session.open(forked)
  front.note(`in a copy of it, the thread ${forked.id}`, 'dim')
  if (message) front.suggest(message.text)
}
