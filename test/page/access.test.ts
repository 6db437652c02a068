import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { ScriptRound } from 'millrace/testing'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { isWhole } from '../size.ts'
import { openDesk } from './desk.ts'
import { describePage, desktop, phone, say, seen } from './page.test-kit.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  readonly id: string
  readonly impact: string
  readonly where: readonly string[]
}

/** What axe finds serious in what is shown now. */
async function findings(page: Page): Promise<Finding[]> {
  await page.evaluate(axe)
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: Violation[] }> }
    }
    interface Violation {
      readonly id: string
      readonly impact: string
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
    }
    const { violations } = await axe.run({ resultTypes: ['violations'] })
    return violations.map(({ id, impact, nodes }) => ({
      id,
      impact,
      where: nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 300)} ${failureSummary}`),
    }))
  })
  return found.filter(({ impact }) => impact === 'serious' || impact === 'critical')
}

/** A conversation with everything in it: thoughts, Markdown, calls that succeed and fail, and one that waits for a person. */
const script: ScriptRound[] = [
  [
    { reasoning: 'Two orders. I look both up, and ask the carrier.' },
    {
      text: 'Let me **look**:\n\n- one\n- two\n\n```ts\nconst order = 42\n```\n\n| order | state |\n| --- | --- |\n| 42 | there |\n',
    },
    { call: 'lookup_order', input: { id: 'ORD-42' } },
    { call: 'lookup_order', input: { id: 'ORD-99' } },
    { call: 'lookup_order', input: { id: 'none' } },
  ],
  [
    { text: 'One of them is not there. May I refund the other?' },
    { call: 'refund_order', input: { id: 'ORD-42' } },
  ],
  'It is done. See [the terms](https://example.org/terms).',
]

const looks = [
  { colorScheme: 'light', viewport: desktop },
  { colorScheme: 'dark', viewport: desktop },
  { colorScheme: 'light', viewport: phone },
  { colorScheme: 'dark', viewport: phone },
] as const

describePage('axe finds nothing serious', (visit) => {
  test.each(looks.filter((_, index) => isWhole || index % 3 === 0))(
    'in $colorScheme colours, $viewport.width wide',
    async (look) => {
      const { url } = await openDesk({ script })
      const page = await visit(url, look)
      const isPhone = look.viewport === phone
      await page.getByRole('textbox', { name: 'Message' }).waitFor()
      expect(await findings(page)).toEqual([])

      await say(page, 'Refund ORD-42 and ORD-99')
      await page.getByRole('button', { name: /^allow/i }).waitFor()
      expect(await findings(page)).toEqual([])
      await page.getByRole('button', { name: /^allow/i }).click()
      await seen(page).getByText('It is done.').waitFor()
      expect(await findings(page)).toEqual([])

      if (isPhone) {
        await page.getByRole('button', { name: 'Threads' }).click()
        await page.getByRole('searchbox').waitFor()
        expect(await findings(page)).toEqual([])
        await page.getByRole('button', { name: 'Threads' }).click()
      }
      await page
        .getByRole('button', { name: /^details/i })
        .first()
        .click()
      await page.getByRole('tabpanel', { name: 'Detail' }).waitFor()
      expect(await findings(page)).toEqual([])
      for (const tab of ['Timeline', 'Detail', 'Events']) {
        await page.getByRole('tab', { name: tab }).click()
        expect([tab, ...(await findings(page))]).toEqual([tab])
      }
      await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
      await page.getByRole('dialog').waitFor()
      expect(await findings(page)).toEqual([])
    },
  )
})

/** Whether somebody who looks at the screen can tell where the keyboard is. */
async function focusIsVisible(page: Page): Promise<string> {
  return page.evaluate(() => {
    const { activeElement: element } = document
    if (!element || element === document.body) return 'nothing has the focus'
    const { outlineStyle, outlineWidth } = getComputedStyle(element)
    const visible = element.matches(':focus-visible') && outlineStyle !== 'none' && outlineWidth !== '0px'
    return visible ? 'visible' : `not to be seen on ${element.outerHTML.slice(0, 200)}`
  })
}

describePage('with nothing but a keyboard', (visit) => {
  test('a person asks, decides, looks closer and begins anew', async () => {
    const { url } = await openDesk({ script })
    const page = await visit(url)
    await page.keyboard.press('/')
    await page.keyboard.type('Refund ORD-42')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: /^allow/i }).waitFor()
    await tabTo(page, /^allow/i)
    await page.keyboard.press('Enter')
    await seen(page).getByText('It is done.').waitFor()

    await page.keyboard.press('Escape')
    await page.keyboard.press('i')
    await page.getByRole('tab', { name: 'Timeline' }).waitFor()
    await tabTo(page, /^timeline$/i, 'tab')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    expect(await page.getByRole('tab', { name: 'Events' }).getAttribute('aria-selected')).toBe('true')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('n')
    await expect.poll(() => new URL(page.url()).hash).toBe('#/')
  })

  test('whatever can be reached shows that it is', async () => {
    const { url } = await openDesk({ script })
    const page = await visit(url)
    await say(page, 'Refund ORD-42 and ORD-99')
    await page.getByRole('button', { name: /^allow/i }).waitFor()
    await page.getByRole('button', { name: 'Inspect' }).click()
    const hidden = new Set<string>()
    for (let steps = 0; steps < 80; steps++) {
      await page.keyboard.press('Tab')
      const seen = await focusIsVisible(page)
      // Behind the last one comes the browser's own.
      if (seen !== 'visible' && seen !== 'nothing has the focus') hidden.add(seen)
    }
    expect([...hidden]).toEqual([])
  })

  test('single keys can be switched off, and colours chosen', async () => {
    const { url } = await openDesk({ script })
    const page = await visit(url)
    await page.keyboard.press('?')
    await page.getByRole('checkbox', { name: /single/i }).press('Space')
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    expect(await page.getByRole('dialog').count()).toBe(0)
    const colours = page.getByRole('button', { name: /colours/i })
    const back = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
    const light = await back()
    await colours.click()
    await colours.click()
    expect(await back()).not.toBe(light)
    await page.reload()
    expect(await back()).not.toBe(light)
  })
})

async function tabTo(page: Page, name: RegExp, role = 'button') {
  for (let steps = 0; steps < 200; steps++) {
    const focused = await page.evaluate(() => {
      const { activeElement: element } = document
      const label = element?.getAttribute('aria-label') ?? element?.textContent ?? ''
      return { label: label.trim(), role: element?.getAttribute('role') ?? element?.localName }
    })
    if (name.test(focused.label) && focused.role === role) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not lead to ${name}`)
}
