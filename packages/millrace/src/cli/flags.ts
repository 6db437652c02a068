/** All commands, with their help. A command line that starts with none of them is a question. */
export const commands = {
  serve: { args: '[agents.ts]', maxArgs: 1, help: 'Serve agents over HTTP and WebSocket' },
  mcp: { args: '[agents.ts]', maxArgs: 1, help: 'Serve agents as MCP tools over stdin and stdout' },
  acp: { args: '[agents.ts]', maxArgs: 1, help: 'Serve agents to the editor that starts this (ACP)' },
  threads: { args: '', maxArgs: 0, help: 'List threads, most recent first' },
  show: { args: 'ID', maxArgs: 1, help: 'Replay a thread' },
  export: { args: '[ID]', maxArgs: 1, help: 'Print a thread as Markdown, JSON, HTML or a test' },
  import: { args: 'FILE', maxArgs: 1, help: 'Create a thread from an exported one (JSON or HTML)' },
  approve: { args: 'ID [CALL]', maxArgs: 2, help: 'Approve (or --deny) a pending tool call and continue' },
  respond: {
    args: 'ID [CALL] RESULT',
    maxArgs: 3,
    help: 'Give the result of a tool call that a client runs',
  },
  stop: { args: 'ID', maxArgs: 1, help: "Stop a thread's run" },
  delete: { args: '[ID]', maxArgs: 1, help: 'Delete a thread and all its data' },
  migrate: { args: '', maxArgs: 0, help: 'Copy all threads to another store' },
  usage: { args: '', maxArgs: 0, help: 'Show what was spent, by day, user, agent, model or tool' },
  help: { args: '[COMMAND]', maxArgs: 1, help: 'Show help for a command' },
} as const

export type Command = keyof typeof commands | 'ask'

export interface Flag {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  /** The placeholder for its value. */
  readonly value?: string
  /** The allowed values. The value may be omitted; it is then the first one. */
  readonly choices?: readonly [string, ...string[]]
  /** With `--gateway` it may be repeated. The values are joined with commas. */
  readonly isList?: boolean
  readonly commands: readonly Command[] | 'all'
  readonly help: string
  /** What it means for a command that uses it differently. */
  readonly of?: { readonly [Name in Command]?: { readonly value: string; readonly help: string } }
}

const answering = ['ask', 'approve', 'respond'] as const
const withAgent = [...answering, 'serve', 'mcp', 'acp'] as const
const withStore = [...withAgent, 'threads', 'show', 'export', 'import', 'stop', 'delete', 'usage'] as const

/** All flags, in the order of the help. */
export const flags = {
  model: {
    type: 'string',
    short: 'm',
    value: 'NAME',
    isList: true,
    commands: withAgent,
    help: 'provider/name or URL#name (default: MILLRACE_MODEL, or auto-detected)',
  },
  system: { type: 'string', short: 's', value: 'TEXT', commands: withAgent, help: 'System prompt' },
  tools: { type: 'string', value: 'FILE', commands: withAgent, help: 'Module that exports tools' },
  thread: { type: 'string', short: 't', value: 'ID', commands: ['ask'], help: 'Continue this thread' },
  new: { type: 'boolean', commands: ['ask'], help: 'Start a new thread with the id given by --thread' },
  timeout: {
    type: 'string',
    value: 'TIME',
    commands: answering,
    help: 'Give up after this time: 30s, 2m, 500ms …',
  },
  'max-cost': {
    type: 'string',
    value: 'USD',
    commands: answering,
    help: 'Most that each run may cost, such as 0.50; a chat asks for more then',
  },
  json: {
    type: 'boolean',
    commands: [...answering, 'threads', 'show', 'migrate', 'usage'],
    help: 'Print one JSON object per line; an answer ends with its result',
  },
  quiet: { type: 'boolean', short: 'q', commands: answering, help: 'Print only errors to stderr' },
  verbose: { type: 'boolean', commands: withAgent, help: 'Log each run and each failure to stderr' },
  pace: { type: 'boolean', commands: ['show'], help: 'Replay at the original speed; long pauses are cut' },
  format: {
    type: 'string',
    value: 'md|json|…',
    commands: ['export'],
    help: 'Output format: md (default), json, html or test',
  },
  feedback: {
    type: 'boolean',
    commands: ['export'],
    help: 'Print the answers with feedback, of all threads or of ID, one per line',
  },
  id: {
    type: 'string',
    value: 'ID',
    commands: ['import'],
    help: 'Id of the new thread (default: a new one)',
  },
  deny: {
    type: 'string',
    value: 'REASON',
    commands: ['approve'],
    help: 'Deny the call; the model sees the reason',
  },
  input: {
    type: 'string',
    value: 'JSON',
    commands: ['approve'],
    help: 'Run the call with these arguments instead',
  },
  remember: {
    type: 'string',
    value: 'thread|always',
    commands: ['approve'],
    help: 'Allow the same from now on (if a permission rule asked)',
  },
  failed: { type: 'boolean', commands: ['respond'], help: 'The call failed, and RESULT says why' },
  limit: {
    type: 'string',
    value: 'N',
    commands: ['threads'],
    help: 'Maximum number of threads (default: 20)',
  },
  search: {
    type: 'string',
    value: 'WORDS',
    commands: ['threads'],
    help: 'List only threads that contain all of these words',
  },
  port: {
    type: 'string',
    value: 'N',
    commands: ['serve'],
    help: 'Port to listen on (default: 8787; 0 picks a free one)',
  },
  host: {
    type: 'string',
    value: 'HOST',
    commands: ['serve'],
    help: 'Address to listen on (default: 127.0.0.1)',
  },
  token: {
    type: 'string',
    value: 'TEXT',
    commands: ['serve'],
    help: 'Require this access token (or set MILLRACE_TOKEN)',
  },
  gateway: {
    type: 'boolean',
    commands: ['serve'],
    help: "Serve the models of --model instead of agents: 'a,b', or 'a|b' for a fallback",
  },
  mcp: { type: 'boolean', commands: ['serve'], help: 'Also serve the agents as MCP tools at /mcp' },
  a2a: { type: 'boolean', commands: ['serve'], help: 'Also serve the agents to A2A clients at /a2a' },
  voice: {
    type: 'string',
    value: '[flite|…]',
    choices: ['flite', 'espeak', 'openai'],
    commands: ['serve'],
    help: 'Speak and listen, with the voice of flite (default), espeak or openai',
  },
  otel: {
    type: 'boolean',
    commands: ['serve'],
    help: 'Send traces and metrics, configured by OTEL_* variables',
  },
  hosts: {
    type: 'string',
    value: 'A,B',
    commands: ['serve'],
    help: 'Host names to accept besides its address',
  },
  origins: { type: 'string', value: 'A,B', commands: ['serve'], help: 'Origins whose web pages may use it' },
  queue: {
    type: 'string',
    value: 'URL',
    commands: ['serve'],
    help: 'Queue that wakes workers: redis://… or postgres://… (or set MILLRACE_QUEUE)',
  },
  role: {
    type: 'string',
    value: 'web|worker',
    commands: ['serve'],
    help: 'Only serve clients, or only run agents (default: both; or set MILLRACE_ROLE)',
  },
  processes: {
    type: 'string',
    value: 'N|auto',
    commands: ['serve'],
    help: 'Run N processes on one port; auto: one per core (or set MILLRACE_PROCESSES)',
  },
  'keep-days': {
    type: 'string',
    value: 'N',
    commands: ['serve'],
    help: 'Delete threads that have not changed for N days',
  },
  by: {
    type: 'string',
    value: 'KEYS',
    commands: ['usage'],
    help: 'day (default), user, agent, model, tool, or several: user,day',
  },
  user: {
    type: 'string',
    value: 'NAME',
    commands: ['delete', 'usage'],
    help: 'Delete all threads of this user',
    of: { usage: { value: 'NAME', help: 'Only what this user spent' } },
  },
  agent: {
    type: 'string',
    value: 'NAME',
    commands: ['usage', 'import'],
    help: 'Only what this agent spent',
    of: { import: { value: 'NAME', help: 'Agent that continues it (default: that of the export)' } },
  },
  from: {
    type: 'string',
    value: 'STORE',
    commands: ['migrate', 'usage'],
    help: 'Store to copy from: sqlite:FILE or postgres://…',
    of: { usage: { value: 'DAY', help: 'The first day, in UTC: 2026-11-18' } },
  },
  to: {
    type: 'string',
    value: 'STORE',
    commands: ['migrate', 'usage'],
    help: 'Store to copy to',
    of: { usage: { value: 'DAY', help: 'The last day, in UTC' } },
  },
  store: {
    type: 'string',
    value: 'STORE',
    commands: withStore,
    help: 'Where threads are stored: postgres://… or sqlite:FILE (or set MILLRACE_STORE)',
  },
  'listen-url': {
    type: 'string',
    value: 'URL',
    commands: withStore,
    help: "PostgreSQL's own address, if --store is PgBouncer (or set MILLRACE_LISTEN_URL)",
  },
  data: {
    type: 'string',
    value: 'FILE',
    commands: withStore,
    help: 'Database file for threads (or set MILLRACE_DATA)',
  },
  help: { type: 'boolean', short: 'h', commands: 'all', help: 'Show this help' },
  version: { type: 'boolean', short: 'v', commands: 'all', help: 'Show the version' },
} as const satisfies Record<string, Flag>

type FlagTable = typeof flags

/** The flags given on the command line. */
export type Flags = {
  readonly [Name in keyof FlagTable]?: FlagTable[Name]['type'] extends 'boolean' ? boolean : string
}

export function takes(command: Command, name: keyof FlagTable): boolean {
  const { commands }: Flag = flags[name]
  return commands === 'all' || commands.includes(command)
}

/** Which commands take a flag, as a phrase: `a question, 'millrace approve'`. */
export function commandsTaking(name: keyof FlagTable): string {
  const { commands }: Flag = flags[name]
  if (commands === 'all') return 'every command'
  return commands.map((command) => (command === 'ask' ? 'a question' : `'millrace ${command}'`)).join(', ')
}

/** The allowed values of a flag; undefined if it takes any value. */
export function choicesOf(name: string): readonly string[] | undefined {
  const known: Readonly<Record<string, Flag>> = flags
  return Object.hasOwn(known, name) ? known[name]?.choices : undefined
}
