import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { describePage } from './page.test-kit.ts'
import { watchContext } from './watch-context.ts'

describePage('watchContext()', (visit) => {
  test.each([
    ['markup from text', () => document.body.append(new DOMParser().parseFromString('<b>', 'text/html'))],
    ['an inline style', () => document.body.setAttribute('style', 'color: red')],
    ['an inline script', () => document.body.setAttribute('onclick', 'alert()')],
    ['a request to another origin', () => void fetch('http://127.0.0.1:9/').catch(() => {})],
    ['an image from another origin', () => void Object.assign(new Image(), { src: 'http://127.0.0.1:9/' })],
    ['an uncaught error', () => void setTimeout(() => JSON.parse('{'))],
  ])('reports %s', async (_, act) => {
    const { url } = await openDesk({ script: [] })
    const page = await visit(url, { tolerates: [/./] })
    const complaints = watchContext(page.context(), url)
    await page.evaluate(act).catch(() => {})
    await expect.poll(() => complaints.length, { timeout: 60_000 }).toBeGreaterThan(0)
  })
})
