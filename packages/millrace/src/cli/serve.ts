import { createHash, timingSafeEqual } from 'node:crypto'
import { invalidInput, MillraceError } from '../protocol/index.ts'
import type { Auth, Protocol, ServedApp } from '../server/index.ts'
import { agUi, anthropicApi, openaiApi, serve as openServer } from '../server/index.ts'
import type { CommandLine } from './args.ts'
import { exchangesOf } from './exchanges.ts'
import { exitCodes } from './exit-codes.ts'
import type { Flags } from './flags.ts'
import { gatewayAgents, gatewayOptions } from './gateway.ts'
import { logLinesOn } from './log-lines.ts'
import { loadPostgres, openStore } from './open-store.ts'
import type { Output } from './output.ts'
import { loadPackage } from './packages.ts'
import type { ServeProcess } from './serve-process.ts'
import { onlyProcess, supervisedProcess } from './serve-process.ts'
import type { ServeSettings } from './serve-settings.ts'
import { serveSettings } from './serve-settings.ts'
import { agentsToServe, printNotices } from './served-agents.ts'
import { startOtel } from './served-otel.ts'
import { openVoice } from './served-voice.ts'
import { shownStore } from './store-address.ts'
import { verboseLogs } from './verbose.ts'

const op = 'millrace'

async function protocolsOf({ mcp, a2a, gateway }: Flags): Promise<Protocol[]> {
  return [
    ...[openaiApi(), anthropicApi()],
    ...(gateway ? [] : [agUi()]),
    ...(mcp ? [await loadMcpProtocol()] : []),
    ...(a2a ? [await loadA2aProtocol()] : []),
  ]
}

async function loadMcpProtocol(): Promise<Protocol> {
  const needs = { flag: '--mcp', install: '@millrace/tools' }
  const { mcpProtocol } = await loadPackage(() => import('@millrace/tools/mcp'), needs)
  return mcpProtocol()
}

async function loadA2aProtocol(): Promise<Protocol> {
  const needs = { flag: '--a2a', install: '@millrace/tools' }
  const { a2a } = await loadPackage(() => import('@millrace/tools/a2a'), needs)
  return a2a()
}

/** Serves the agents of a file, or one configured by the flags, until a signal arrives. */
export async function serve(line: CommandLine, output: Output): Promise<number> {
  const settings = serveSettings(line.flags)
  if (settings.processes === undefined) return serveHere(line, settings, onlyProcess(output))
  const [{ default: cluster }, { superviseProcesses }] = await Promise.all([
    import('node:cluster'),
    import('./processes.ts'),
  ])
  return cluster.isPrimary
    ? superviseProcesses(settings.processes, settings, output)
    : serveHere(line, settings, supervisedProcess(output))
}

async function serveHere(
  { words, flags }: CommandLine,
  settings: ServeSettings,
  { output, port = settings.port, ending, ready }: ServeProcess,
): Promise<number> {
  const [file] = words
  const { host, token, address, queue, role, keepDays } = settings
  const servesClients = role !== 'worker'
  // Before the agents, so that their own instrumentation is recorded too.
  const otel = flags.otel ? await startOtel(output) : undefined
  const agents = flags.gateway ? await gatewayAgents(file, flags) : await agentsToServe(file, flags, 'serve')
  const voice = flags.voice === undefined || !servesClients ? undefined : await openVoice(flags.voice, output)
  const store = await openStore(address, { worker: true })
  const dispatcher = queue && (await loadPostgres('--queue')).bullmq(queue)
  const app = openServer({
    agents,
    store,
    dispatcher,
    works: role !== 'web',
    clients: servesClients,
    keepDays,
    exchanges: await exchangesOf(address, store),
    ...(token && { auth: tokenAuth(token) }),
    hosts: commaList(flags.hosts),
    origins: commaList(flags.origins),
    protocols: servesClients ? await protocolsOf(flags) : [],
    ...(flags.gateway && { clientOptions: gatewayOptions }),
    voice,
    telemetry: [...(otel ? [otel.telemetry] : []), ...verboseLogs(flags, logLinesOn(output))],
  })
  try {
    const { url } = await listen(app, { port, host, token })
    // Before the line that says it listens: a client may send a signal as soon as it reads that.
    const ended = ending()
    output.print(`listening at ${url}\n`)
    output.note(
      servesClients
        ? `open ${pageUrl(url)} to chat with the agents and inspect their runs`
        : 'this is a worker: it runs agents, and answers only health checks at /healthz and /readyz',
    )
    if (role === 'web') output.note('this process runs no agents: start others with --role worker')
    const what = flags.gateway ? 'models' : 'agents'
    output.note(`${what}: ${app.agents.join(', ')}; threads are stored in ${shownStore(address)}`)
    await printNotices(app, output)
    if (servesClients) {
      const base = pageUrl(url).slice(0, -1)
      output.note(`OpenAI-compatible clients connect to ${base}/v1, Anthropic clients to ${base}`)
      if (!flags.gateway) output.note(`AG-UI clients connect to ${base}/ag-ui/${app.agents[0]}`)
    }
    if (flags.mcp && servesClients) output.note(`MCP clients connect to ${pageUrl(url)}mcp`)
    if (flags.a2a && servesClients) output.note(`A2A clients connect to ${pageUrl(url)}a2a`)
    if (otel) output.note(otel.destinations)
    if (!token && servesClients)
      output.note(
        'no token set: anyone on this machine can use it. Set --token or MILLRACE_TOKEN to restrict access.',
      )
    ready()
    await ended
    return exitCodes.ok
  } finally {
    await app.close()
    await voice?.close()
    await dispatcher?.close()
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
  // Compares digests, so that the time it takes reveals nothing about the token.
  const isToken = (shown: string) => timingSafeEqual(digest(shown), wanted)
  return ({ headers }) => {
    const [, bearer = ''] = /^Bearer +(.*)$/i.exec(headers.get('authorization') ?? '') ?? []
    // Many clients of Anthropic's API send their key in this header, some with another bearer token.
    return isToken(bearer) || isToken(headers.get('x-api-key') ?? '')
      ? { user: 'token', canSee: () => true, canInspect: true }
      : undefined
  }
}

function commaList(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
}
