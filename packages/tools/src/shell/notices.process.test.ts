import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const entry = new URL('../index.ts', import.meta.url).href
const notInstalled = 'bubblewrap is not installed (apt-get install bubblewrap)'

/**
 * Creates shells in a child process without bubblewrap. Returns its output, without Node's own
 * lines.
 */
async function withoutBubblewrap(...sandboxes: string[]) {
  const program = `
    import { shell } from ${JSON.stringify(entry)}
    for (const sandbox of ${JSON.stringify(sandboxes)}) {
      const box = shell({ workspace: ${JSON.stringify(tmpdir())}, sandbox })
      console.log(await box.notices().catch(({ code, message }) => code + ' ' + message))
    }`
  const args = ['--conditions=@millrace/source', '--input-type=module', '-e', program]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env: { PATH: '/nowhere' } })
  const warnings = stderr.split('\n').filter((line) => line.includes('Warning: '))
  return { stdout, warnings: warnings.map((line) => line.replace(/^\(node:\d+\) /, '')) }
}

test('a process without a sandbox gets one warning, however many shells it has', async () => {
  const sentence = `Commands run without a sandbox, with all permissions of your user: ${notInstalled}.`
  const { stdout, warnings } = await withoutBubblewrap('auto', 'auto', 'required')
  expect(warnings).toEqual([`[MILLRACE_NO_SANDBOX] Warning: ${sentence}`])
  const problem = `shell: sandbox is 'required', but no sandbox works here: ${notInstalled}`
  expect(stdout).toBe(`[\n  '${sentence}'\n]\n[\n  '${sentence}'\n]\ninvalid_input ${problem}\n`)
})

test('a process that requires a sandbox is warned that nothing will run', async () => {
  const { warnings } = await withoutBubblewrap('required')
  expect(warnings).toEqual([
    `[MILLRACE_NO_SANDBOX] Warning: shell: sandbox is 'required', but no sandbox works here: ${notInstalled}`,
  ])
})

test('a process that turned the sandbox off gets no warning', async () => {
  const { stdout, warnings } = await withoutBubblewrap('off')
  expect(stdout).toContain(
    "Commands run without a sandbox, with all permissions of your user: sandbox is 'off'.",
  )
  expect(warnings).toEqual([])
})
