import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { build, type Rolldown } from 'vite'
import { onTestFinished } from 'vitest'
import { root } from '../root.ts'
import { type DeskOptions, type OpenDeskOptions, openDesk, openDeskProcess } from './desk.ts'
import { type PageFiles, pageProtocol } from './react/page-protocol.ts'

export const reactVersions = ['19', '18'] as const
export type ReactVersion = (typeof reactVersions)[number]

const folder = join(root, 'test', 'page', 'react')
const builds = new Map<string, Promise<PageFiles>>()

/** A page of `test/page/react` with a version of React. */
function reactPage(react: ReactVersion, entry = 'app.tsx'): Promise<PageFiles> {
  const key = `${entry} ${react}`
  const made = builds.get(key) ?? builtPage(react, { name: entry })
  builds.set(key, made)
  return made
}

/** Builds a page for development, from a file of `test/page/react`, or from code as if it were one. */
export async function builtPage(
  react: ReactVersion,
  { name, code }: { readonly name: string; readonly code?: string },
): Promise<PageFiles> {
  const entry = join(folder, name)
  const modules = join(root, ...(react === '18' ? ['test', 'react-18'] : []), 'node_modules')
  const result = await build({
    root: folder,
    configFile: false,
    logLevel: 'error',
    // Only in development, StrictMode mounts everything twice.
    mode: 'development',
    define: { 'process.env.NODE_ENV': '"development"' },
    resolve: {
      alias: { react: join(modules, 'react'), 'react-dom': join(modules, 'react-dom') },
    },
    plugins:
      code === undefined
        ? []
        : [
            {
              name: 'page',
              load: (id) => (id === entry ? code : undefined),
              resolveId: (id) => (id === entry ? id : undefined),
            },
          ],
    build: {
      write: false,
      minify: false,
      target: 'esnext',
      assetsInlineLimit: 0,
      rolldownOptions: { input: { app: entry }, output: { entryFileNames: '[name].js' } },
    },
  })
  const { output } = result as Rolldown.RolldownOutput
  return Object.fromEntries(
    output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : String(file.source)]),
  )
}

/** A server with the React page at `/`. */
export async function openReactDesk(react: ReactVersion, options: OpenDeskOptions, entry?: string) {
  const protocols = [pageProtocol(await reactPage(react, entry))]
  return openDesk({ ...options, app: { ...options.app, page: false, protocols } })
}

/** Like `openReactDesk`, in a separate process that can be killed and restarted. */
export async function openReactDeskProcess(react: ReactVersion, options: DeskOptions) {
  const place = mkdtempSync(join(tmpdir(), 'millrace-react-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  const files = join(place, 'page.json')
  writeFileSync(files, JSON.stringify(await reactPage(react)))
  return openDeskProcess(options, files)
}

/** What tests do on the React page. */
export function reactChat(page: Page) {
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  return {
    page,
    button,
    status: page.getByLabel('Status'),
    connection: page.getByLabel('Connection'),
    user: page.getByRole('article', { name: 'user' }),
    answers: page.getByRole('article', { name: 'assistant' }),
    async say(text: string, mode: 'queue' | 'steer' | 'interrupt' = 'queue') {
      await page.getByLabel('Mode').selectOption(mode)
      await page.getByLabel('Message').fill(text)
      await button('Send').click()
    },
    /** Waits for a status, which is read from the page. */
    async until(status: string) {
      await page.getByLabel('Status').getByText(status, { exact: true }).waitFor()
    },
    renders: () => page.evaluate(() => ({ ...window.renders })),
    toolCalls: () => page.evaluate(() => window.toolCalls),
  }
}
