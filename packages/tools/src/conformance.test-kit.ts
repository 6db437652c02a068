import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const suite = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
}

export interface Report {
  readonly passed: number
  /** The checks that failed or warn, as `scenario:check`. */
  readonly failed: readonly string[]
}

/** Runs what a revision of MCP requires, and its extensions, with the official conformance suite. */
export async function conformance(role: 'server' | 'client', options: readonly string[]): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-conformance-'))
  try {
    const args = [suite, role, ...options, '--output-dir', folder]
    // It exits with 1 if any check fails.
    await promisify(execFile)(process.execPath, args, { cwd: folder }).catch(({ code, stderr }) => {
      if (code !== 1) throw new Error(`the conformance suite failed: ${stderr}`)
    })
    const checks = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('checks.json'))
      .flatMap((file) => {
        const scenario = file.replace(/-20\d\d-\d\d-\d\dT[^/]*\/checks\.json$/, '').replace(/^server-/, '')
        const checks: Check[] = JSON.parse(readFileSync(join(folder, file), 'utf8'))
        return checks.map(({ id, status }) => ({ name: `${scenario}:${id}`, status }))
      })
    const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    return {
      passed: checks.filter(({ status }) => status === 'SUCCESS').length,
      failed: [...new Set(failed.map(({ name }) => name))].sort(),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
