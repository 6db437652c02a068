import { createHash, timingSafeEqual } from 'node:crypto'
import { invalidInput, MillraceError } from '../protocol/index.ts'
import type { Auth, Protocol, ServedApp } from '../server/index.ts'
import { serve as openServer } from '../server/index.ts'
import type { CommandLine } from './args.ts'
import { asidesOn } from './asides.ts'
import { dataPath, openData } from './data.ts'
import { exchangesAt } from './exchanges.ts'
import { exitCodes } from './exit-codes.ts'
import { onInterrupt } from './interrupts.ts'
import type { Output } from './output.ts'
import { loadPackage } from './packages.ts'
import { servedAgents, tellNotices } from './served-agents.ts'
import { servedOtel } from './served-otel.ts'
import { servedVoice } from './served-voice.ts'
import { verboseLogs } from './verbose.ts'

const op = 'millrace'

async function servedMcp(): Promise<Protocol> {
  const needs = { flag: '--mcp', install: '@millrace/tools' }
  const { mcpProtocol } = await loadPackage(() => import('@millrace/tools/mcp'), needs)
  return mcpProtocol()
}

/** Serves agents until it is told to end: those of a file, or one made of the flags. */
export async function serve({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [file] = words
  const port = readPort(flags.port ?? '8787')
  const { host = '127.0.0.1' } = flags
  const token = (flags.token ?? process.env.MILLRACE_TOKEN)?.trim()
  // Before the agents: what they measure themselves when they are loaded is to be seen as well.
  const otel = flags.otel ? await servedOtel(output) : undefined
  const agents = await servedAgents(file, flags, 'serve')
  const voice = flags.voice === undefined ? undefined : await servedVoice(flags.voice, output)
  const store = openData(flags.data)
  const app = openServer({
    agents,
    store,
    exchanges: exchangesAt(flags.data),
    ...(token && { auth: bearerOf(token) }),
    hosts: listOf(flags.hosts),
    origins: listOf(flags.origins),
    protocols: flags.mcp ? [await servedMcp()] : [],
    voice,
    telemetry: [...(otel ? [otel.telemetry] : []), ...verboseLogs(flags, asidesOn(output))],
  })
  try {
    const { url } = await listen(app, { port, host, token })
    // Before anybody is told that it listens: whoever knows may end it at once, and it ends well.
    const interrupted = new Promise<void>((resolve) => onInterrupt(() => resolve()))
    output.say(`listening at ${url}\n`)
    output.tell(`open ${pageOf(url)} to talk to the agents and to watch them`)
    output.tell(`agents: ${app.agents.join(', ')}; threads are kept in ${dataPath(flags.data)}`)
    await tellNotices(app, output)
    if (flags.mcp) output.tell(`MCP clients find them at ${pageOf(url)}mcp`)
    if (otel) output.tell(otel.says)
    if (!token) output.tell('everybody on this machine may use it: --token, or MILLRACE_TOKEN, asks for one')
    await interrupted
    output.tell('letting tools come to an end; what is left goes on at the next start')
    return exitCodes.ok
  } finally {
    await app.close()
    await voice?.close()
    await store.close()
    await otel?.close()
  }
}

async function listen(
  app: ServedApp,
  { port, host, token }: { port: number; host: string; token: string | undefined },
) {
  try {
    return await app.listen({ port, host })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'invalid_input' && !token && (cause as MillraceError).op === 'app.listen')
      throw invalidInput(op, `--host ${host} is open to others: set --token, or MILLRACE_TOKEN`, cause)
    if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') throw cause
    const why = { EADDRINUSE: 'is taken', EACCES: 'is not allowed', EADDRNOTAVAIL: 'is not of this machine' }[
      code
    ]
    const message = `${host}:${port} ${why}: choose another with --port, where 0 takes a free one, or --host`
    throw new MillraceError({ op, code: 'conflict', message, cause })
  }
}

/** Whoever listens at every address of a machine is reached at this one from itself. */
function pageOf(url: string): string {
  return `${url.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:)/, '//127.0.0.1')}/`
}

/** Whoever shows the token is one and the same, and may see everything. */
function bearerOf(token: string): Auth {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const wanted = digest(token)
  return (request) => {
    const [, shown = ''] = /^Bearer +(.*)$/i.exec(request.headers.get('authorization') ?? '') ?? []
    // By its digest: how long it takes tells nothing about the token.
    return timingSafeEqual(digest(shown), wanted)
      ? { user: 'token', sees: () => true, inspects: true }
      : undefined
  }
}

function readPort(text: string): number {
  const port = Number(text)
  if (text.trim() !== '' && Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw invalidInput(op, `--port takes a number from 0 to 65535, not '${text}'`)
}

function listOf(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
}
