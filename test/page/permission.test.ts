import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SimulatedRequest } from '@millrace/simulator'
import { permission, permissionFile, shell } from '@millrace/tools'
import { agent, type Model } from 'millrace'
import { expect, onTestFinished, test } from 'vitest'
import { chatOf } from './chat.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage, screenshot } from './page.test-kit.ts'

const command = 'echo one && echo two'

/** The last message that the model was sent. */
function lastOf({ body }: SimulatedRequest) {
  const { messages } = body as unknown as { messages: { role: string; content: unknown }[] }
  return messages.at(-1) as (typeof messages)[number]
}

function openShell() {
  const workspace = mkdtempSync(join(tmpdir(), 'millrace-page-coder-'))
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }))
  const box = shell({ workspace })
  onTestFinished(() => box.close())
  return { workspace, box }
}

/** An agent with a real shell, whose model runs the same command each time it is asked. */
async function openCoder() {
  const { box, workspace } = openShell()
  const rules = permission({
    deny: ['run(rm *)'],
    memory: permissionFile(join(workspace, 'permissions.json')),
  })
  return openDesk({
    script: (request) => {
      const { role, content } = lastOf(request)
      if (role === 'tool') return 'Done.'
      const text = JSON.stringify(content)
      return [{ call: 'shell', input: { command: text.includes('clean') ? 'rm -rf /nothing' : command } }]
    },
    agents: (model: Model) => ({ coder: agent({ name: 'coder', model, tools: [box], permission: rules }) }),
  })
}

describePage('rules', (visit) => {
  test('what they ask is asked, with the rules that would be remembered, and once is once', async () => {
    const { url } = await openCoder()
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Go.')
    const card = chat.card('shell')
    await card.getByText('it would run `echo one` and run `echo two`').waitFor()
    await card.getByText('run(echo one), run(echo two)').waitFor()
    expect(await card.getByRole('combobox').locator('option').allTextContents()).toEqual([
      'once',
      'in this thread',
      'always',
    ])
    await screenshot(page, 'chat-permission')
    await chat.button('Allow').click()
    await chat.ends(1)
    await chat.say('Again.')
    await chat.button('Allow').waitFor()
  })

  test('what is allowed in the thread is not asked again, and the detail names the rule', async () => {
    const { url, app } = await openCoder()
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Go.')
    await chat.card('shell').getByRole('combobox').selectOption('in this thread')
    await chat.button('Allow').click()
    await chat.card('shell').getByText('Allowed in this thread').waitFor()
    await chat.ends(1)
    await chat.say('Again.')
    await chat.ends(2)
    const entries = await app.thread(chat.threadId()).read()
    expect(entries.filter(({ event }) => event.type === 'approval-request')).toHaveLength(1)
    await chat.card('shell').nth(1).getByRole('button', { name: 'Details' }).click()
    await page.getByText('allowed in this thread: run(echo one)').first().waitFor()
  })

  test('what is always allowed is so in the next thread too', async () => {
    const { url, app } = await openCoder()
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Go.')
    await chat.card('shell').getByRole('combobox').selectOption('always')
    await chat.button('Allow').click()
    await chat.ends(1)
    const other = app.thread('other')
    await other.send('Go.')
    const types: string[] = []
    for await (const { event } of other.follow({ until: 'idle' })) types.push(event.type)
    expect(types).toContain('tool-result')
    expect(types).not.toContain('approval-request')
  })

  test('what they deny is shown with its rule, and nobody is asked', async () => {
    const { url } = await openCoder()
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Please clean up.')
    const card = chat.card('shell')
    await card.getByText('running `rm -rf /nothing` is not allowed here (rule: run(rm *))').waitFor()
    expect(await chat.button('Allow').count()).toBe(0)
    await card.getByRole('button', { name: 'Details' }).click()
    await page.getByText('deny run(rm *)').first().waitFor()
  })

  test('what a command prints is shown while it runs', async () => {
    const { box, workspace } = openShell()
    const { url } = await openDesk({
      script: (request) =>
        lastOf(request).role === 'tool'
          ? 'Done.'
          : [
              {
                call: 'shell',
                input: { command: 'echo begun; while [ ! -e go ]; do sleep 0.05; done; echo over' },
              },
            ],
      agents: (model: Model) => ({ coder: agent({ name: 'coder', model, tools: [box] }) }),
    })
    const page = await visit(url)
    const chat = chatOf(page)
    await chat.say('Go.')
    await chat.card('shell').getByLabel('Output').getByText('begun').waitFor()
    writeFileSync(join(workspace, 'go'), '')
    await chat.ends(1)
    await chat.card('shell').getByLabel('Result').getByText('over').first().waitFor()
    expect(await chat.card('shell').getByLabel('Output').count()).toBe(0)
  })
})
