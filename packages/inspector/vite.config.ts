import { defineConfig } from 'vite'

// While the page is worked on (`npm run dev:page`) it talks to a server that runs beside it.
const server = process.env.MILLRACE_URL ?? 'http://127.0.0.1:8787'
// What ends like one of its own sources is one: they too have a folder `threads`.
const routes = ['threads', 'agents', 'voice', 'healthz', 'openapi.json'].map(
  (route) => `^/${route}(?!.*\\.(?:tsx?|css)(?:\\?|$))`,
)

export default defineConfig({
  root: import.meta.dirname,
  // Wherever the server is mounted, the page asks for what lies beside it.
  base: './',
  // What the library asks of Node is nothing to a page, and is left out.
  define: { 'globalThis.process': 'undefined' },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [
    {
      // What is loaded later has no styles of its own, so there is nothing to load before it. Vite's own takes half a kilobyte.
      name: 'plain-imports',
      enforce: 'pre',
      load: (id) =>
        id === '\0vite/preload-helper.js' ? 'export const __vitePreload = (load) => load()' : undefined,
    },
  ],
  server: { proxy: Object.fromEntries(routes.map((route) => [route, { target: server, ws: true }])) },
  build: {
    outDir: '../millrace/dist/page/files',
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: false,
    assetsInlineLimit: 0,
  },
})
