import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { client, readExport } from 'millrace/client'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { seriousProblems } from './accessibility.test-kit.ts'
import { openDesk } from './desk.ts'
import { describePage, say, screenshot, seen, textOfDownload } from './page.test-kit.ts'
import { listOf, longTimeout } from './threads.test-kit.ts'

const hostile = '</script><script>window.hit = 1</script><!-- <script> <img src=x onerror="window.hit = 1">'
const script = [
  [
    { reasoning: `I look it up. ${hostile}` },
    { text: 'Let me look.' },
    { call: 'lookup_order', input: { id: 'ORD-42' } },
  ],
  [{ text: 'It is ' }, { pause: 50 }, { text: 'there. ' }, { text: hostile }],
]

describePage('a thread exported as HTML', (visit) => {
  test('replays from a file without a network, and continues where it is imported', async () => {
    const { url } = await openDesk({ script })
    const page = await visit(url)
    await say(page, `Where is ORD-42? ${hostile}`)
    await page.getByRole('button', { name: 'Retry' }).waitFor()
    const [thread] = (await client(url).threads()).threads
    const waiting = page.waitForEvent('download')
    await listOf(page).choose('Where is ORD-42?', 'Export as HTML')
    const download = await waiting
    expect(download.suggestedFilename()).toMatch(/^where-is-ord-42.*\.html$/)
    const html = await textOfDownload(download)
    const exported = readExport(html)
    expect(exported.entries).toEqual(
      await client(url)
        .thread(thread?.id ?? '')
        .read({ split: true }),
    )
    const path = await fileWith(html)

    // The file, without a server or a network.
    const file = await visit(pathToFileURL(path).href, {
      offline: true,
      tolerates: [/violates the following Content Security Policy directive/, /Refused to connect/],
    })
    expect(await file.title()).toContain('Where is ORD-42? </script>')
    await seen(file).getByText('It is there.').waitFor()
    const reasoning = seen(file).getByRole('article', { name: 'Reasoning' })
    await reasoning.locator('summary').click()
    await reasoning.getByText('I look it up.').last().waitFor()
    expect(await file.getByRole('contentinfo').textContent()).toMatch(
      /Exported from Millrace on \d{4}-\d\d-\d\d \d\d:\d\d UTC; import it with millrace import/,
    )
    for (const name of ['Retry', 'Fork', 'Edit message', 'Good answer']) {
      expect([name, await page.getByRole('button', { name }).count()]).toEqual([name, 1])
      expect([name, await file.getByRole('button', { name }).count()]).toEqual([name, 0])
    }
    expect(await file.getByRole('textbox', { name: 'Message' }).count()).toBe(0)
    await seen(file).getByRole('button', { name: 'Details' }).click()
    const panel = file.getByRole('tabpanel')
    await panel.getByText('Full result').waitFor()
    await panel.getByRole('button', { name: 'Round 1' }).click()
    await panel.getByText('Tools called').waitFor()
    expect(await panel.getByText(/Requests|playground/i).count()).toBe(0)
    await file.getByRole('tab', { name: 'Events' }).click()
    await file.getByRole('list', { name: 'Events' }).getByText('run-end').waitFor()
    await file.getByRole('tab', { name: 'Timeline' }).click()
    await file.getByRole('button', { name: 'Replay' }).click()
    await file.getByRole('combobox', { name: 'Speed' }).selectOption('8×')
    await file.getByRole('region', { name: 'Chat at this time' }).getByText('It is there.').waitFor()
    await screenshot(file, 'standalone')
    expect(await seriousProblems(file)).toEqual([])
    expect(await file.evaluate(() => 'hit' in globalThis)).toBe(false)
    expect(await violationOfFetch(file)).toBe('connect-src')

    // Another server.
    const other = await openDesk({ script: ['Any time.'] })
    const importer = await visit(other.url)
    const choosing = importer.waitForEvent('filechooser')
    await importer.getByRole('button', { name: 'Import…' }).click()
    await (await choosing).setFiles({ name: 'x.html', mimeType: 'text/html', buffer: Buffer.from('<p>') })
    await importer.getByText("Can't import x.html: this HTML file contains no exported thread").waitFor()
    await drop(importer, html)
    await importer.getByText(/^Imported Where is ORD-42/).waitFor()
    await seen(importer).getByText('It is there.').waitFor()
    await say(importer, 'Thanks!')
    await seen(importer).getByText('Any time.').waitFor()
    const [request] = other.provider.requests
    expect(JSON.stringify(request?.body)).toContain('It is there.')
    await expect.poll(() => listOf(importer).titles(), longTimeout).toHaveLength(1)
  })
})

async function fileWith(html: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-share-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'thread.html')
  await writeFile(path, html)
  return path
}

/** Drops a file on the chat. */
async function drop(page: Page, content: string): Promise<void> {
  const dataTransfer = await page.evaluateHandle((text) => {
    const data = new DataTransfer()
    data.items.add(new File([text], 'thread.html', { type: 'text/html' }))
    return data
  }, content)
  await page.dispatchEvent('main', 'dragover', { dataTransfer })
  await page.locator('[data-drop]').waitFor()
  await page.dispatchEvent('main', 'drop', { dataTransfer })
  await page.locator('[data-drop]').waitFor({ state: 'detached' })
}

/** The directive of the policy that stops a request. */
function violationOfFetch(page: Page): Promise<string> {
  return page.evaluate(
    () =>
      new Promise<string>((resolve) => {
        document.addEventListener('securitypolicyviolation', ({ violatedDirective }) =>
          resolve(violatedDirective),
        )
        fetch('http://127.0.0.1:9/').catch(() => {})
      }),
  )
}
