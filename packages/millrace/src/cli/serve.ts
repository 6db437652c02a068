import { createHash, timingSafeEqual } from 'node:crypto'
import { invalidInput, MillraceError } from '../protocol/index.ts'
import type { Auth, Protocol, ServedApp } from '../server/index.ts'
import { serve as openServer } from '../server/index.ts'
import type { CommandLine } from './args.ts'
import { dataPath, openData } from './data.ts'
import { exchangesAt } from './exchanges.ts'
import { exitCodes } from './exit-codes.ts'
import { onInterrupt } from './interrupts.ts'
import { logLinesOn } from './log-lines.ts'
import type { Output } from './output.ts'
import { loadPackage } from './packages.ts'
import { agentsToServe, printNotices } from './served-agents.ts'
import { startOtel } from './served-otel.ts'
import { openVoice } from './served-voice.ts'
import { verboseLogs } from './verbose.ts'

const op = 'millrace'

async function loadMcpProtocol(): Promise<Protocol> {
  const needs = { flag: '--mcp', install: '@millrace/tools' }
  const { mcpProtocol } = await loadPackage(() => import('@millrace/tools/mcp'), needs)
  return mcpProtocol()
}

/** Serves the agents of a file, or one configured by the flags, until a signal arrives. */
export async function serve({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [file] = words
  const port = readPort(flags.port ?? '8787')
  const { host = '127.0.0.1' } = flags
  const token = (flags.token ?? process.env.MILLRACE_TOKEN)?.trim()
  // Before the agents, so that their own instrumentation is recorded too.
  const otel = flags.otel ? await startOtel(output) : undefined
  const agents = await agentsToServe(file, flags, 'serve')
  const voice = flags.voice === undefined ? undefined : await openVoice(flags.voice, output)
  const store = openData(flags.data)
  const app = openServer({
    agents,
    store,
    exchanges: exchangesAt(flags.data),
    ...(token && { auth: tokenAuth(token) }),
    hosts: commaList(flags.hosts),
    origins: commaList(flags.origins),
    protocols: flags.mcp ? [await loadMcpProtocol()] : [],
    voice,
    telemetry: [...(otel ? [otel.telemetry] : []), ...verboseLogs(flags, logLinesOn(output))],
  })
  try {
    const { url } = await listen(app, { port, host, token })
    // Before the line that says it listens: a client may send a signal as soon as it reads that.
    const interrupted = new Promise<void>((resolve) => onInterrupt(() => resolve()))
    output.print(`listening at ${url}\n`)
    output.note(`open ${pageUrl(url)} to chat with the agents and inspect their runs`)
    output.note(`agents: ${app.agents.join(', ')}; threads are stored in ${dataPath(flags.data)}`)
    await printNotices(app, output)
    if (flags.mcp) output.note(`MCP clients connect to ${pageUrl(url)}mcp`)
    if (otel) output.note(otel.destinations)
    if (!token)
      output.note(
        'no token set: anyone on this machine can use it. Set --token or MILLRACE_TOKEN to restrict access.',
      )
    await interrupted
    output.note('waiting for running tools; unfinished runs resume on the next start')
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
      throw invalidInput(
        op,
        `--host ${host} can be reached from other machines: set --token or MILLRACE_TOKEN`,
        cause,
      )
    if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') throw cause
    const why = {
      EADDRINUSE: 'is already in use',
      EACCES: 'is not permitted',
      EADDRNOTAVAIL: 'is not an address of this machine',
    }[code]
    const message = `${host}:${port} ${why}: choose another with --port (0 picks a free one) or --host`
    throw new MillraceError({ op, code: 'conflict', message, cause })
  }
}

/** A server that listens on all addresses is opened at 127.0.0.1. */
function pageUrl(url: string): string {
  return `${url.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:)/, '//127.0.0.1')}/`
}

/** All callers with the token are the same user, who may see everything. */
function tokenAuth(token: string): Auth {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const wanted = digest(token)
  return (request) => {
    const [, shown = ''] = /^Bearer +(.*)$/i.exec(request.headers.get('authorization') ?? '') ?? []
    // Compares digests, so that the time it takes reveals nothing about the token.
    return timingSafeEqual(digest(shown), wanted)
      ? { user: 'token', canSee: () => true, canInspect: true }
      : undefined
  }
}

function readPort(text: string): number {
  const port = Number(text)
  if (text.trim() !== '' && Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw invalidInput(op, `--port must be a number from 0 to 65535, not '${text}'`)
}

function commaList(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
}
