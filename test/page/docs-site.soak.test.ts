import { execFile } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from '../root.ts'
import { describePage, desktop, phone } from './page.test-kit.ts'

const site = join(root, 'docs', '.vitepress', 'dist')
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

// Like any static host with clean URLs: /concepts is concepts.html.
const server = createServer(({ url = '/' }, response) => {
  const path = join(site, decodeURIComponent(new URL(url, 'http://x').pathname))
  const file = [path, `${path}.html`, join(path, 'index.html')].find((one) => extname(one) && existsSync(one))
  response.writeHead(file ? 200 : 404, { 'content-type': types[extname(file ?? '')] ?? 'text/plain' })
  response.end(file && readFileSync(file))
})
let url = ''

beforeAll(async () => {
  // What `npm run docs` does after the build, which the set-up has done.
  const vitepress = createRequire(import.meta.url).resolve('vitepress/package.json')
  for (const args of [
    ['scripts/docs-reference.ts'],
    [vitepress.replace('package.json', 'bin/vitepress.js'), 'build', 'docs'],
  ])
    await promisify(execFile)(process.execPath, args, { cwd: root })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}, 300_000)
function attributes(html: string, name: string): string[] {
  return [...html.matchAll(new RegExp(`\\s${name}="([^"]*)"`, 'g'))].map(([, value = '']) =>
    value.replaceAll('&amp;', '&'),
  )
}
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

describePage('the docs site', (visit) => {
  test('has every page, and no broken links', () => {
    const pages = globSync('**/*.md', { cwd: join(root, 'docs'), exclude: ['.vitepress/**'] })
      .map((path) => `/${path.replace(/(^|\/)index\.md$/, '').replace(/\.md$/, '')}`)
      .sort()
    const sources = new Map(
      pages.map((path) => [path, readFileSync(join(site, `${path === '/' ? 'index' : path}.html`), 'utf8')]),
    )
    const anchors = new Map(
      [...sources].map(([path, html]) => [path, new Set(attributes(html, 'id'))] as const),
    )
    const links = [...sources].flatMap(([path, html]) =>
      attributes(html, 'href')
        .filter((href) => /^[/#](?!.*\.(?:css|js|svg|woff2)$)/.test(href))
        .map((href) => [path, href] as const),
    )
    const broken = links.filter(([path, href]) => {
      const { pathname, hash } = new URL(href, `http://x${path}`)
      const target = anchors.get(pathname)
      return !target || (hash !== '' && !target.has(decodeURIComponent(hash.slice(1))))
    })
    expect(broken).toEqual([])
    expect(links.length).toBeGreaterThan(pages.length)
  })

  test('lists every export of every entry point', () => {
    const entries = readdirSync(join(root, 'docs', 'reference', 'api'))
    expect(entries).toEqual(
      expect.arrayContaining(['millrace.md', 'millrace-server.md', 'millrace-tools-mcp.md']),
    )
    const agents = readFileSync(join(site, 'reference', 'api', 'millrace.html'), 'utf8')
    for (const name of ['agent', 'tool', 'millrace', 'AgentOptions', 'RunEvent', 'MillraceError'])
      expect(agents).toContain(`id="${name.toLowerCase()}"`)
    expect(agents).toContain('maxRounds')
  })

  test('has a working search', async () => {
    const page = await visit(`${url}/quick-start`)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByPlaceholder('Search').fill('round-retract')
    await page.getByRole('option').first().waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).not.toContain('/quick-start')
    await page.locator('main').getByText('round-retract').first().waitFor()
  })

  test.each([
    ['light', desktop],
    ['dark', desktop],
    ['light', phone],
    ['dark', phone],
  ] as const)('is readable in %s colors at %o', async (colorScheme, viewport) => {
    const page = await visit(`${url}/concepts`, { colorScheme, viewport })
    const brightness = (property: string) =>
      page.locator('body').evaluate((body, name) => {
        const [red = 0, green = 0, blue = 0] =
          getComputedStyle(body)[name as 'color'].match(/\d+/g)?.map(Number) ?? []
        return red + green + blue
      }, property)
    const [text, background] = [await brightness('color'), await brightness('backgroundColor')]
    expect(colorScheme === 'dark' ? text - background : background - text).toBeGreaterThan(300)
    // Nothing is wider than the screen: code and tables scroll on their own.
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
      viewport.width,
    )
    if (viewport === phone) {
      await page.getByRole('button', { name: 'Menu' }).click()
      await page.getByRole('navigation').getByText('Deploying').click()
    } else await page.getByRole('complementary').getByRole('link', { name: 'Deploying' }).click()
    await page.getByRole('heading', { level: 1, name: 'Deploying' }).waitFor()
  })
})
