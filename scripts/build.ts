import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { buildPage } from './build-page.ts'
import { bundleDeclarations } from './declarations.ts'

// Each package becomes one file for each entry point, and a few shared ones: resolving and opening a
// file costs more than running it. Declarations are bundled in the same way, from the output of one
// tsc run for all packages.
const root = fileURLToPath(new URL('..', import.meta.url))
const declarations = join(root, 'node_modules/.cache/declarations')

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
  readonly imports?: Readonly<Record<string, string | { readonly default: string }>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Files that are loaded by their path, so they cannot be part of another bundle. */
const loadedByPath: Readonly<Record<string, readonly string[]>> = {
  millrace: ['cli/main', 'client/voice-worklet', 'log/sqlite/thread'],
  '@millrace/voice': ['voices/flite/worker', 'onnx/worker'],
}

/**
 * Without comments and with short local names, an import takes an eighth less CPU time. The names of
 * functions and classes stay, and the lines: Node prints the whole line of an error that nothing
 * catches.
 */
const minify = {
  compress: { keepNames: { function: true, class: true } },
  mangle: { toplevel: false, keepNames: true },
  codegen: { removeWhitespace: false },
}

interface Group {
  readonly name: string
  readonly test: RegExp
  readonly tags?: ['$initial']
  readonly minShareCount?: number
}

/** Leaves out what is only imported dynamically: it is loaded when it is needed. */
const initial: Pick<Group, 'tags'> = { tags: ['$initial'] }

// Without groups, each set of entry points that share a module gets a file of its own: `import
// 'millrace'` would open 23 files instead of 7. Kept apart from them is what only a page, an export
// or `millrace --help` needs.
const groups: Readonly<Record<string, Group[]>> = {
  millrace: [
    { name: 'protocol', test: /src\/protocol\/(?!voice)/, ...initial },
    // Separate from the rest of the client, so that a page loads them only when it uses audio.
    { name: 'browser-audio', test: /src\/client\/browser-/ },
    { name: 'wire', test: /src\/models\/wire\//, ...initial },
    // Of these, a page and `millrace/view` load the parser of Markdown, and others only its entities.
    { name: 'entities', test: /src\/view\/markdown\/entities/ },
    { name: 'markdown', test: /src\/view\/markdown\// },
    { name: 'view', test: /src\/view\/(?!markdown|index)/, ...initial },
    {
      name: 'core',
      test: /src\/((log|tools|agent|threads|telemetry)\/(?!sqlite|test-script|invisible)|models\/(?!openai|anthropic|ai-sdk|wire))/,
      ...initial,
    },
    { name: 'sqlite', test: /src\/log\/sqlite/, ...initial },
    { name: 'invisible', test: /src\/tools\/invisible/ },
    // What every command needs, and what several do: a question needs nearly all of it.
    { name: 'command-line', test: /src\/cli\/(exit-codes|json-lines|version|terminal\/clean)/ },
    { name: 'commands', test: /src\/cli\/(?!main|run)/, minShareCount: 3 },
  ],
}

const stem = (path: string) => path.replace(/^\.\/dist\/(.*)\.js$/, '$1')

/** The entry points, by their path below `src`, without the extension. */
function entryPoints({ exports }: Manifest): string[] {
  return Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [] : [stem(target.default)],
  )
}

async function buildModules(folder: string, manifest: Manifest): Promise<void> {
  const entries = [...entryPoints(manifest), ...(loadedByPath[manifest.name] ?? [])]
  const bundle = await rolldown({
    cwd: folder,
    input: Object.fromEntries(entries.map((entry) => [entry, `src/${entry}.ts`])),
    platform: 'neutral',
    external: (id) => /^(#|[^./])/.test(id),
    // An entry point keeps its 'use client'.
    checks: { moduleLevelDirective: false },
  })
  await bundle.write({
    dir: join(folder, 'dist'),
    sourcemap: true,
    // The package contains the sources.
    sourcemapExcludeSources: true,
    minify,
    // It loads the worklet from its own folder.
    chunkFileNames: ({ name }) => (name === 'browser-audio' ? 'client/[name].js' : 'shared/[name].js'),
    codeSplitting: { groups: groups[manifest.name] ?? [] },
  })
  await bundle.close()
}

async function buildDeclarations(folder: string, name: string, manifest: Manifest): Promise<void> {
  const written = join(declarations, name, 'src')
  const bundle = await rolldown({
    cwd: folder,
    input: Object.fromEntries(entryPoints(manifest).map((entry) => [entry, join(written, `${entry}.d.ts`)])),
    // Its types are bundled, so that users of the package need not install it.
    external: (id) => /^(#|[^./])/.test(id) && id !== '@standard-schema/spec',
    plugins: [bundleDeclarations()],
  })
  await bundle.write({ dir: join(folder, 'dist'), chunkFileNames: 'shared/[name].d.ts' })
  await bundle.close()
}

function writeDeclarations(): void {
  rmSync(declarations, { recursive: true, force: true })
  const { status } = spawnSync('tsc', ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

const packages = readdirSync(join(root, 'packages')).map((name) => {
  const folder = join(root, 'packages', name)
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return { name, folder, manifest }
})
const published = packages.filter(({ manifest }) => !manifest.private)

for (const { folder, manifest } of published) {
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  await buildModules(folder, manifest)
  for (const file of ['LICENSE', 'CHANGELOG.md']) cpSync(join(root, file), join(folder, file))
}
cpSync(join(root, 'README.md'), join(root, 'packages/millrace/README.md'))
// The page needs the built client, and the declarations need those of the page.
await buildPage(root)
writeDeclarations()
for (const { name, folder, manifest } of published) await buildDeclarations(folder, name, manifest)
