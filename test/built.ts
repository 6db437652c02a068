import { spawnSync } from 'node:child_process'
import { existsSync, globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './root.ts'

/** Builds the packages before tests that need the build, if a source is newer. */
export function setup(): void {
  const built = join(root, 'packages/millrace/dist/index.d.ts')
  const sources = globSync(
    [
      'packages/*/{src/**/*.ts,package.json}',
      'packages/inspector/**/*.{ts,tsx,css,html}',
      'scripts/{build,build-page,standalone-page}.ts',
    ],
    { cwd: root, exclude: ['**/node_modules'] },
  )
  const newest = Math.max(
    ...sources
      .filter((path) => !/\.test(-kit)?\./.test(path))
      .map((path) => statSync(join(root, path)).mtimeMs),
  )
  if (existsSync(built) && statSync(built).mtimeMs > newest) return
  const { status } = spawnSync(process.execPath, ['scripts/build.ts'], { cwd: root, stdio: 'inherit' })
  if (status !== 0) throw new Error('the build failed: run npm run build')
}
