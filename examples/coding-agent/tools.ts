import { homedir } from 'node:os'
import { join } from 'node:path'
import { files, permission, permissionFile, shell, webFetch } from '@millrace/tools'

// Also works for a chat in the terminal: npx millrace --tools examples/coding-agent/tools.ts

/** The tools of a coding agent, limited to one folder. */
export const toolsFor = (workspace: string) =>
  [files({ workspace }), shell({ workspace }), webFetch()] as const

// Not `cat *`, `rg *` or `git diff *`: they can show any file of the machine, whatever the rules for
// files say. Tests can run anything, so only the sandbox makes them harmless.
const harmless = ['node --test *', 'npm test *', 'git status *', 'git diff', 'git log *', 'ls *']

/**
 * Files in the workspace may be read and written. In the sandbox, all commands may run. Without a
 * sandbox, only the harmless ones; all others need approval.
 */
export const rulesFor = (workspace: string) =>
  permission({
    allow: ['read(**)', 'write(**)', ...harmless.map((command) => `run(${command})`)],
    deny: ['read(**/.env*)', 'write(**/.env*)', 'write(**/.git)', 'run(sudo *)', 'run(git push *)'],
    // Commands that might read a denied file still need approval.
    sandboxed: 'allow',
    // Not in the workspace, where the agent could grant itself permissions.
    memory: permissionFile(join(homedir(), '.millrace', `${encodeURIComponent(workspace)}.json`)),
  })

const rules = rulesFor(process.cwd())

export { rules as permission }
export default toolsFor(process.cwd())
