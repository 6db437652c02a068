import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { allowed, hostile } from './hostile-markdown.ts'
import { copied, describePage, phone, screenshot } from './page.test-kit.ts'
import { openStage } from './stage.test-kit.ts'

const script = `
  import { h, render } from 'preact'
  import { Markdown } from './markdown/markdown.tsx'

  let text = { pieces: [], chars: 0, closed: false }
  let version = 0
  const stage = document.getElementById('stage')
  const draw = () => render(h(Markdown, { text, version: ++version }), stage)
  Object.assign(window, {
    write(...pieces) {
      text.pieces.push(...pieces)
      draw()
    },
    close() {
      text.closed = true
      draw()
    },
    restart() {
      text = { pieces: [], chars: 0, closed: false }
      draw()
    },
    unmount: () => render(null, stage),
  })
`

/** Only turns a hang into a failure. */
const longTimeout = { timeout: 60_000 }

interface Stage {
  write(...pieces: string[]): void
  close(): void
  restart(): void
  unmount(): void
}
declare const window: Stage & { readonly axe: typeof axe } & typeof globalThis.window

const paragraph = (page: Page) => page.locator('.md p').evaluate((element) => element.innerHTML)

const everything = `# A heading

Some **bold**, *italic*, ~~gone~~ and \`code\` with a [link](https://a.b/c) and https://example.com/x.
The second line of it.

## Another

1. First
   - nested
     - deeper
2. Second

- [ ] to do
- [x] done

> A quote
> - with a list

\`\`\`ts title="x.ts"
const answer: number = 42 // ${'long '.repeat(40)}
if (answer < 43) {
\treturn
}
\`\`\`

| Name | Amount | Note |
|---|--:|:-:|
| Tea | 3 | *hot* |
| Coffee | 12 | a<br>b |

---

### A third

Never **closed, and 2 * 3

שלום עולם
`

/** Runs inside the page: returns elements and attributes that are not allowed. */
function findHoles(list: Record<string, readonly string[]>): string[] {
  const holes: string[] = []
  for (const element of document.querySelectorAll('.md *')) {
    const names = list[element.tagName]
    if (!names) holes.push(`<${element.tagName}>`)
    for (const { name, value } of element.attributes) {
      if (!names?.includes(name) || /^on|^style$|^src/.test(name))
        holes.push(`${element.tagName} ${name}=${value}`)
    }
    if (element instanceof HTMLAnchorElement && !/^(https?|mailto):/.test(element.href))
      holes.push(element.href)
  }
  return holes
}

describePage('Markdown', (visit) => {
  test('hostile output is inert, wherever it is split', async () => {
    const page = await visit(await openStage(script))
    const found = await page.evaluate(
      async ({ texts, list, source }) => {
        const holesIn = new Function(`return ${source}`)() as typeof findHoles
        const holes: string[] = []
        Object.assign(window, { hack: () => holes.push('a script was run') })
        const see = (text: string) => holes.push(...holesIn(list).map((hole) => `${text}: ${hole}`))
        for (const text of texts) {
          for (let cut = 0; cut < text.length; cut++) {
            window.restart()
            window.write(text.slice(0, cut), text.slice(cut))
            if (cut % 7 === 0) see(text)
            window.close()
            see(text)
            for (const link of document.querySelectorAll<HTMLElement>('.md a')) {
              // In another window the script would not run in this page.
              link.removeAttribute('target')
              link.addEventListener('click', (event) => event.preventDefault())
              link.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))
            }
          }
        }
        // Requests would have been sent by then.
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
        return holes
      },
      { texts: hostile, list: allowed, source: findHoles.toString() },
    )
    expect(found).toEqual([])
    expect(hostile.length).toBeGreaterThanOrEqual(30)
  })

  test('a link opens a new tab, without a referrer, and shows its address', async () => {
    const page = await visit(await openStage(script))
    await page.evaluate(() =>
      window.write('[home](https://a.b/c) <mailto:x@y.z> ![cat](https://a.b/cat.png)'),
    )
    await page.evaluate(() => window.close())
    const links = page.locator('.md a')
    expect(await links.allTextContents()).toEqual(['home', 'mailto:x@y.z', 'image: cat'])
    for (const link of await links.all()) {
      expect(await link.getAttribute('rel')).toBe('noopener noreferrer nofollow')
      expect(await link.getAttribute('target')).toBe('_blank')
      expect(await link.getAttribute('title')).toBe(await link.getAttribute('href'))
    }
  })

  test('rendered elements are kept: a selection stays while the answer grows', async () => {
    const page = await visit(await openStage(script))
    await page.evaluate(() => window.write('# One\n\nA **bold** word and *another', ' one'))
    const kept = await page.evaluate(async () => {
      const nodes = [...document.querySelectorAll('.md, .md *')]
      const text = document.querySelector('.md strong')?.firstChild as Text
      getSelection()?.setBaseAndExtent(text, 0, text, 4)
      for (let i = 0; i < 200; i++) window.write(` more ${i}`, i % 20 === 19 ? '\n\n- item' : '')
      window.close()
      return nodes.every((node) => node.isConnected) && getSelection()?.toString()
    })
    expect(kept).toBe('bold')
  })

  test('the number of nodes does not depend on the number of pieces', async () => {
    const page = await visit(await openStage(script))
    const [inOne, inMany, sameText] = await page.evaluate(() => {
      const block =
        'Some words with `code`, **bold** and a [link](https://a.b).\n\n- one\n- two\n\n```js\nlet x = 1\n```\n\n'
      const answer = block.repeat(Math.ceil(200_000 / block.length))
      const size = Math.ceil(answer.length / 10_000)
      const count = () => {
        const walker = document.createTreeWalker(document.querySelector('.md') as Element)
        let nodes = 0
        while (walker.nextNode()) nodes++
        return nodes
      }
      const root = () => document.querySelector('.md')?.textContent
      window.write(answer)
      window.close()
      const whole = [count(), root()]
      window.restart()
      for (let at = 0; at < answer.length; at += size) window.write(answer.slice(at, at + size))
      window.close()
      return [whole[0], count(), whole[1] === root()]
    })
    expect(inMany).toBe(inOne)
    expect(sameText).toBe(true)
  })

  test('a new piece changes only the end', async () => {
    const page = await visit(await openStage(script))
    const changes = await page.evaluate(async () => {
      const seen = { length: 0, away: 0 }
      window.write('A paragraph.\n\n'.repeat(500), 'The last')
      const last = document.querySelector('.md')?.lastElementChild as Element
      const watch = new MutationObserver((records) => {
        seen.length += records.length
        seen.away += records.filter(({ target }) => !last.contains(target)).length
      })
      watch.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
      for (let i = 0; i < 100; i++) window.write(` word`)
      await Promise.resolve()
      return seen
    })
    expect(changes).toEqual({ length: 100, away: 0 })
  })

  test('another text replaces the old one, and unmounting removes everything', async () => {
    const page = await visit(await openStage(script))
    await page.evaluate(() => window.write('```js\nold\n```\n'))
    await page.evaluate(() => window.restart())
    await page.evaluate(() => window.write('*new'))
    expect(await paragraph(page)).toBe('<em>new</em>')
    await page.evaluate(() => window.close())
    expect(await paragraph(page)).toBe('<em class="md-plain" role="presentation">*new</em>')
    expect(await page.locator('.md em').evaluate((em) => getComputedStyle(em).fontStyle)).toBe('normal')
    await page.evaluate(() => window.unmount())
    expect(await page.locator('#stage').evaluate((stage) => stage.childNodes.length)).toBe(0)
  })

  test('a code block is copied literally', async () => {
    const page = await visit(await openStage(script), { permissions: ['clipboard-read', 'clipboard-write'] })
    await page.evaluate(() => window.write('```py\n\tif a < b:\n\n', '\t\tprint("<b>")\n```\n'))
    const code = await copied(page.getByRole('button', { name: 'Copy code' }))
    expect(code).toBe('\tif a < b:\n\n\t\tprint("<b>")')
    expect(await page.locator('.md-code-bar').textContent()).toBe('py')
  })

  test('a long code block is split into chunks, also when selected', async () => {
    const page = await visit(await openStage(script), { permissions: ['clipboard-read', 'clipboard-write'] })
    // Every third line is empty, so some chunks would end with one, and the last does.
    const code = `${Array.from({ length: 1000 }, (_, i) => (i % 3 === 0 ? '' : `line ${i}`)).join('\n')}\n`
    const [one, many] = await page.evaluate((text) => {
      const drawn: (string | undefined)[] = []
      for (const size of [text.length, 7]) {
        window.restart()
        for (let at = 0; at < text.length; at += size) window.write(text.slice(at, at + size))
        window.close()
        drawn.push(document.querySelector('.md code')?.innerHTML)
      }
      return drawn
    }, `\`\`\`\n${code}\n\`\`\`\n`)
    expect(many).toBe(one)
    expect(await page.locator('.md-lines').count()).toBeGreaterThan(8)
    expect(await copied(page.getByRole('button', { name: 'Copy code' }))).toBe(code)
    const selected = await page.evaluate(() => {
      getSelection()?.selectAllChildren(document.querySelector('.md code') as Element)
      return getSelection()?.toString()
    })
    expect(selected?.trimEnd()).toBe(code.trimEnd())
    const rows = await page.locator('.md code').evaluate((element) => {
      for (const block of element.children) (block as HTMLElement).style.contentVisibility = 'visible'
      return Math.round(
        element.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(element).lineHeight),
      )
    })
    expect(rows).toBe(1000)
  })

  test('wide content scrolls on its own on a phone, also by keyboard', async () => {
    const page = await visit(await openStage(script), { viewport: phone })
    const cells = Array.from({ length: 12 }, (_, i) => `column${i}`).join(' | ')
    await page.evaluate(
      (text) => window.write(text),
      `${'long'.repeat(100)}\n\n\`\`\`\n${'code '.repeat(60)}\n\`\`\`\n\n| ${cells} |\n|${'---|'.repeat(12)}\n| ${cells} |\n`,
    )
    await page.evaluate(() => window.close())
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(phone.width)
    for (const name of ['Code', 'Table']) {
      const box = page.getByRole('group', { name })
      await box.focus()
      await page.keyboard.press('ArrowRight')
      await expect.poll(() => box.evaluate((element) => element.scrollLeft), longTimeout).toBeGreaterThan(0)
    }
    await screenshot(page, 'markdown-phone')
  })

  test('text, lists and tables of right-to-left scripts run from the right', async () => {
    const page = await visit(await openStage(script), { viewport: phone })
    const text = 'مرحبا'
    await page.evaluate(
      (markdown) => window.write(markdown),
      `${text} ORD-42\n\n- ${text}\n- ok\n\n> ${text}\n\n| ${text} | b |\n|---|---|\n| 1 | 2 |\n\nHello\n\n- Hello`,
    )
    await page.evaluate(() => window.close())
    const directions = await page
      .locator('.md :is(ul, blockquote, table)')
      .evaluateAll((elements) => elements.map((element) => getComputedStyle(element).direction))
    expect(directions).toEqual(['rtl', 'rtl', 'rtl', 'ltr'])
    // Each paragraph has its own direction.
    const starts = await page.locator('.md > * > p').evaluateAll((elements) =>
      elements.map((element) => {
        const range = document.createRange()
        range.selectNodeContents(element)
        return range.getBoundingClientRect().left === element.getBoundingClientRect().left
      }),
    )
    expect(starts).toEqual([false, true])
  })

  test.each(['light', 'dark'] as const)('all elements are accessible in %s mode', async (colorScheme) => {
    const page = await visit(await openStage(script), { colorScheme, viewport: { width: 800, height: 1300 } })
    await page.evaluate((text) => window.write(text), everything)
    await page.evaluate(() => window.close())
    await screenshot(page, `markdown-${colorScheme}`)
    await page.evaluate(`${axe.source}; undefined`)
    const found = await page.evaluate(() => window.axe.run(document))
    const serious = found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    expect(serious.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([])
  })

  test('only blocks near the viewport are laid out', async () => {
    const page = await visit(await openStage(script))
    await page.evaluate(() => window.write('A *paragraph*.\n\n'.repeat(3000)))
    const skipped = () =>
      page.evaluate(() => {
        const isSkipped = (element: Element) => !element.checkVisibility({ contentVisibilityAuto: true })
        return [...document.querySelectorAll('.md em')].filter(isSkipped).length
      })
    await expect.poll(skipped, longTimeout).toBeGreaterThan(2500)
  })
})
