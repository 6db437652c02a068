import { agent, tool } from 'millrace'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openDesk } from './desk.ts'
import { hostile } from './hostile-markdown.ts'
import { describePage, say, seen } from './page.test-kit.ts'

const escapes = '\u001b[31mred\u001b[0m \u001b]8;;javascript:alert(1)\u0007link\u001b]8;;\u0007 \u009b2J'
const markup =
  '<script>window.hit = 1</script><img src=x onerror="window.hit = 1"><a href="javascript:window.hit=1">go</a>'
const hostileText = `${markup} ${escapes} [go](javascript:window.hit=1) end of it`

/** Finds markup that could run, load or link to something. */
async function dangers(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found = 'hit' in globalThis ? ['a script has run'] : []
    for (const element of document.querySelectorAll('*')) {
      for (const { name, value } of element.attributes) {
        if (/^on/i.test(name)) found.push(`${element.localName} has ${name}`)
        const isAddress = name === 'href' || name === 'src' || name === 'action'
        if (isAddress && !/^(https?:|mailto:|data:image\/|blob:|#|\.\/)/.test(value))
          found.push(`${name} is ${value}`)
      }
      if (element.localName === 'script' && !element.getAttribute('src')?.startsWith('./assets/'))
        found.push('an injected script')
      if (
        /^(iframe|object|embed|form|base|link|style|meta)$/.test(element.localName) &&
        element.closest('main')
      )
        found.push(element.localName)
    }
    const escapes = ['\u001b', '\u009b', '\u0007']
    for (const node of document.querySelectorAll('body *'))
      if (node.childElementCount === 0 && escapes.some((one) => node.textContent?.includes(one)))
        found.push(`an escape sequence in ${node.localName}.${node.className}`)
    return found
  })
}

describePage('output of models, tools and users', (visit) => {
  test('is inert everywhere on the page', async () => {
    const echo = tool({
      name: 'echo',
      description: 'Says it again',
      input: { jsonSchema: { type: 'object', properties: { text: { type: 'string' } } } },
      async *run() {
        yield hostileText
        throw new Error(hostileText)
      },
    })
    const { url } = await openDesk({
      script: [
        [{ reasoning: hostileText }, { text: hostileText }, { call: 'echo', input: { text: hostileText } }],
        [{ text: hostile.join('\n\n') }],
      ],
      agents: (model) => ({ echo: agent({ name: 'echo', model, tools: [echo] }) }),
    })
    const page = await visit(url)
    await say(page, hostileText)
    await page.getByRole('button', { name: 'Retry' }).waitFor()
    expect(await dangers(page)).toEqual([])
    expect(await seen(page).getByText('<script>').count()).toBeGreaterThan(0)

    for (const summary of await seen(page).locator('summary').all()) await summary.click()
    expect(await dangers(page)).toEqual([])
    await page
      .getByRole('button', { name: /^details/i })
      .first()
      .click()
    for (const tab of ['Detail', 'Events', 'Timeline']) {
      await page.getByRole('tab', { name: tab }).click()
      expect([tab, ...(await dangers(page))]).toEqual([tab])
    }
  })
})
