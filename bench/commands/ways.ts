import { basename, join, resolve } from 'node:path'

/** What a command is started with. */
export interface CommandInput {
  /** The address of the provider, which ends in `/v1`. */
  readonly provider: string
  /** The port to listen on. */
  readonly port: number
}

export interface Way {
  readonly name: string
  readonly title: string
  readonly ours: boolean
  /** Whether it answers a question and exits, or listens. */
  readonly kind: 'answer' | 'serve'
  /** Whether it prints the answer of the provider. */
  readonly prints: boolean
  /** The arguments of Node. */
  readonly args: (input: CommandInput) => readonly string[]
}

const question = 'Tell me all about it.'
const file = (name: string) => join(import.meta.dirname, name)

/** What the others of its kind are compared with. */
export const bases: Readonly<Record<Way['kind'], string>> = { answer: 'fetch', serve: 'hono' }

const floors: readonly Way[] = [
  {
    name: 'node',
    title: 'floor: `node -e 0`',
    ours: false,
    kind: 'answer',
    prints: false,
    args: () => ['-e', '0'],
  },
  {
    name: 'fetch',
    title: 'floor: a script with `fetch`',
    ours: false,
    kind: 'answer',
    prints: true,
    args: ({ provider }) => [file('bare-fetch.mjs'), provider, question],
  },
  {
    name: 'hono',
    title: 'floor: a bare Hono server',
    ours: false,
    kind: 'serve',
    prints: false,
    args: ({ port }) => [file('bare-hono.mjs'), `${port}`],
  },
]

/** Millrace of a checkout. */
function millrace(checkout: string, name: string, of = ''): readonly Way[] {
  const bin = join(checkout, 'packages/millrace/bin/millrace.js')
  const model = ({ provider }: CommandInput) => ['--model', `${provider}#gpt-4.1-mini`]
  const common = { ours: true, prints: true }
  return [
    {
      ...common,
      name: `${name}`,
      title: `\`millrace "question"\`${of}`,
      kind: 'answer',
      args: (input) => [bin, question, ...model(input)],
    },
    {
      ...common,
      name: `${name}-serve`,
      title: `\`millrace serve\`${of}`,
      kind: 'serve',
      args: (input) => [bin, 'serve', '--port', `${input.port}`, ...model(input)],
    },
  ]
}

export const ways: readonly Way[] = [...floors, ...millrace(join(import.meta.dirname, '../..'), 'millrace')]

/** The commands with these names; for a path, those of the checkout there. */
export const waysOf = (names: readonly string[]): readonly Way[] =>
  names.flatMap((name) =>
    name.includes('/')
      ? millrace(resolve(name), basename(resolve(name)), ` of ${basename(resolve(name))}`)
      : ways.filter((way) => way.name === name),
  )
