import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ToolResultEvent } from 'millrace'
import { agent } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { type PermissionOptions, permission } from '../permission/permission.ts'
import { folder, hasSandbox } from './sandbox/sandbox.test-kit.ts'
import { type ShellOptions, shell } from './shell.ts'

// Its effect is not clear from its words.
const command = 'for name in made; do touch "$name"; done; echo "$HOME" > /dev/null; echo done'

/** The outcome when an agent with these rules runs a line. */
async function outcome(rules: PermissionOptions, options: Partial<ShellOptions> = {}) {
  const workspace = folder()
  const box = shell({ workspace, sandbox: 'required', ...options })
  const worker = agent({
    model: scriptedModel([[{ call: 'shell', input: { command } }], 'Done.']),
    tools: [box],
    permission: permission(rules),
  })
  const run = worker.stream('Go.')
  const results: ToolResultEvent[] = []
  for await (const event of run) if (event.type === 'tool-result') results.push(event)
  const { approvals } = await run.result
  await box.close()
  const [part] = results[0]?.output ?? []
  return {
    asked: approvals[0]?.reason,
    rule: approvals[0]?.permission?.rule ?? results[0]?.permission?.rule,
    text: part?.type === 'text' ? part.text : '',
    made: existsSync(join(workspace, 'made')),
  }
}

describe.runIf(hasSandbox)('an opaque line', () => {
  test("runs without asking in the sandbox with sandboxed: 'allow'", async () => {
    expect(await outcome({ sandboxed: 'allow' })).toMatchObject({ asked: undefined, made: true })
  })

  test('needs approval and is shown whole without that option', async () => {
    expect(await outcome({})).toMatchObject({ asked: expect.stringContaining(command), made: false })
  })

  test.each<[string, Partial<ShellOptions>]>([
    ['there is no sandbox', { sandbox: 'off' }],
    ['it has network access', { network: true }],
    ['it can reach any host', { network: ['*'] }],
  ])('needs approval if %s', async (_, options) => {
    const { asked, made } = await outcome({ sandboxed: 'allow' }, options)
    expect({ asked, made }).toEqual({ asked: expect.stringContaining(command), made: false })
  })

  test('is denied if a rule denies a command visible in it', async () => {
    expect(await outcome({ sandboxed: 'allow', deny: ['run(touch *)'] })).toMatchObject({
      rule: 'deny run(touch *)',
      made: false,
    })
  })

  test('runs in read-only mode and cannot change anything', async () => {
    const { text, made } = await outcome({ mode: 'read-only' })
    expect(text).toContain('done')
    expect(text).toContain('Read-only file system')
    expect(made).toBe(false)
  })

  test('is denied in read-only mode without a sandbox', async () => {
    expect(await outcome({ mode: 'read-only' }, { sandbox: 'off' })).toMatchObject({
      rule: 'read-only',
      made: false,
    })
  })

  test('cannot change anything if the parent agent is read-only', async () => {
    const workspace = folder()
    const box = shell({ workspace, sandbox: 'required' })
    const worker = agent({
      name: 'worker',
      model: scriptedModel([[{ call: 'shell', input: { command } }], 'Done.']),
      tools: [box],
    })
    const chief = agent({
      model: scriptedModel([[{ call: 'worker', input: { prompt: 'go' } }], 'Done.']),
      tools: [worker.asTool({ description: 'Works' })],
      permission: permission({ mode: 'read-only', allow: ['worker'] }),
    })
    const events = await Array.fromAsync(chief.stream('Go.'))
    await box.close()
    expect(JSON.stringify(events)).toContain('Read-only file system')
    expect(existsSync(join(workspace, 'made'))).toBe(false)
  })
})
