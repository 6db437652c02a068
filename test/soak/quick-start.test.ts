import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Block, parseMarkdown } from '../markdown.ts'
import { plainEnv, run } from '../processes.ts'
import { root } from '../root.ts'

// Follows docs/quick-start.md with copy and paste, in a new folder, with the packed package in place of the registry's. Without a
// container engine the instructions of the Dockerfile are carried out in a clean folder.
const { blocks, prose } = parseMarkdown(readFileSync(join(root, 'docs', 'quick-start.md'), 'utf8'))

let folder: string
let port: number
const children: ChildProcess[] = []
const env = { ...plainEnv(), PATH: `${dirname(process.execPath)}:${process.env.PATH}` }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-quick-start-'))
  port = await freePort()
  const pack = [
    'pack',
    '--offline',
    '--ignore-scripts',
    '--workspace',
    'packages/millrace',
    '--pack-destination',
  ]
  expect(await run('npm', [...pack, folder], { cwd: root })).toMatchObject({ exit: 0 })
})

afterAll(async () => {
  for (const child of children) await stopped(child)
  await rm(folder, { recursive: true, force: true })
})

test('an empty folder becomes a server that answers, restarts with its threads, and runs from its Dockerfile', async () => {
  const project = join(folder, 'my-agent')
  await sh(section('1.')[0], folder)
  for (const [name, block] of filesOf(section('2.'))) writeFileSync(join(project, name), block.code)

  const serving = start(section('3.')[0], project)
  await expect.poll(isAnswering).toBe(true)
  const page = await (await fetch(`http://127.0.0.1:${port}/`)).text()
  expect(page).toContain('<title>Millrace</title>')

  const [curl, , ask] = section('4.')
  const events = await sh(curl, project)
  expect(events).toContain('"type":"tool-result"')
  expect(events).toContain('"outcome":"completed"')
  for (const [name, block] of filesOf(section('4.')))
    writeFileSync(join(project, name), block.code.replaceAll('8787', String(port)))
  expect(await sh(ask, project)).toBe('Let me look. ORD-42 has shipped.')
  await stopped(serving)

  const clean = join(folder, 'container')
  mkdirSync(clean)
  const [dockerfile] = filesOf(section('5.')).values()
  const environment = { MILLRACE_TOKEN: 'choose-a-long-secret' }
  for (const line of dockerfile?.code.replaceAll('/data', join(clean, 'data')).trim().split('\n') ?? []) {
    const [instruction, rest = ''] = line.split(/ (.*)/)
    if (instruction === 'COPY') copy(project, clean, rest)
    if (instruction === 'RUN') await sh({ code: offline(rest).replace('chown node', 'test -d') }, clean)
    if (instruction === 'CMD') start({ code: (JSON.parse(rest) as string[]).join(' ') }, clean, environment)
  }
  await expect.poll(isAnswering).toBe(true)
  const [health, threads] = section('6.')[0]?.code.trim().split('\n') ?? []
  expect(JSON.parse(await sh({ code: health ?? '' }, clean))).toMatchObject({ status: 'ok', ready: true })
  expect(JSON.parse(await sh({ code: threads ?? '' }, clean))).toEqual({ threads: [] })
  expect((await fetch(`http://127.0.0.1:${port}/threads`)).status).toBe(401)
})

/** The blocks below the heading that starts with a text. */
function section(start: string): Block[] {
  const from = prose.findIndex((line) => line.startsWith(`## ${start}`))
  const to = prose.findIndex((line, index) => index > from && line.startsWith('## '))
  return blocks.filter(({ line }) => line > from && line < to)
}

/** The blocks that are to be saved as files, by name. */
function filesOf(all: readonly Block[]): Map<string, Block> {
  return new Map(
    all.flatMap((block) => {
      const before = prose
        .slice(0, block.line - 1)
        .filter(Boolean)
        .slice(-2)
        .join(' ')
      const [, name] = /save (?:this|it) as `([^`]+)`/i.exec(before) ?? []
      return name && block.info !== 'sh' ? [[name, block] as const] : []
    }),
  )
}

/** npm without the registry: the packed package, and what lies here already. */
function offline(code: string): string {
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  const install = [
    `mkdir -p node_modules/millrace && tar -xzf ${join(folder, tarball)} --strip-components=1 -C node_modules/millrace`,
    'mkdir -p node_modules/.bin && ln -s ../millrace/bin/millrace.js node_modules/.bin/millrace',
    'mkdir node_modules/@cfworker',
    ...['zod', 'ws', '@cfworker/json-schema'].map(
      (name) => `ln -s ${join(root, 'node_modules', name)} node_modules/${name}`,
    ),
  ].join(' && ')
  return code.replace(/npm (?:install millrace zod|ci --omit=dev)/, install)
}

async function sh(block: Pick<Block, 'code'> | undefined, cwd: string): Promise<string> {
  const code = offline(block?.code ?? 'false').replaceAll('8787', String(port))
  const { exit, stdout, stderr } = await run('sh', ['-e', '-c', code], { cwd, env })
  expect({ exit, stderr: stderr.replace(/^npm warn .*\n/gm, '') }, code).toEqual({ exit: 0, stderr: '' })
  return stdout
}

function start(
  block: Pick<Block, 'code'> | undefined,
  cwd: string,
  more: NodeJS.ProcessEnv = {},
): ChildProcess {
  const child = spawn('sh', ['-c', `exec ${block?.code.trim()} --port ${port}`], {
    cwd,
    env: { ...env, ...more },
    stdio: 'ignore',
    // npx does not pass signals on, a terminal sends them to the whole group.
    detached: true,
  })
  children.push(child)
  return child
}

function isAnswering(): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  )
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  process.kill(-(child.pid as number), 'SIGTERM')
  await vi.waitUntil(async () => !(await isAnswering()), { timeout: 60_000 })
}

/** `COPY package*.json ./`, from the project into the image. */
function copy(from: string, to: string, rest: string): void {
  const [pattern = ''] = rest.split(' ')
  const matcher = new RegExp(`^${pattern.replace('.', '\\.').replace('*', '.*')}$`)
  for (const name of readdirSync(from).filter((one) => matcher.test(one)))
    cpSync(join(from, name), join(to, basename(name)))
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
