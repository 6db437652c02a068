/**
 * Files and folders that make a program run code, or trust another host, when it is used in that
 * folder: the name, and why. `package.json` is not included: its scripts run only by name, and editing
 * it is ordinary work.
 */
export const protectedNames: ReadonlyMap<string, string> = new Map([
  ['.gitconfig', 'git runs the programs that its settings name'],
  ['.gitmodules', 'says where git fetches submodules from'],
  ['.husky', 'git hooks'],
  ['.githooks', 'git hooks'],
  ['.lefthook', 'git hooks'],
  ['.hg', 'Mercurial runs the hooks that its settings name'],
  ['.jj', 'Jujutsu runs the programs that its settings name'],
  ['.npmrc', 'names the registry, the shell for scripts and options for node'],
  ['.yarnrc', 'names the program that yarn runs in its place'],
  ['.yarnrc.yml', 'names plugins and the program that yarn runs in its place'],
  ['.pnpmfile.cjs', 'pnpm runs it at every install'],
  ['.pnpmfile.mjs', 'pnpm runs it at every install'],
  ['.envrc', 'direnv runs it on entering the folder'],
  ['.mise.toml', 'mise runs its hooks on entering the folder'],
  ['mise.toml', 'mise runs its hooks on entering the folder'],
  ['.vscode', 'tasks and the paths of tools that the editor starts'],
  ['.idea', 'run configurations and the paths of tools that the editor starts'],
  ['.zed', 'tasks and the paths of tools that the editor starts'],
  ['.fleet', 'run configurations and the paths of tools that the editor starts'],
  ['.exrc', 'vim runs it where exrc is set'],
  ['.nvim.lua', 'neovim runs it where exrc is set'],
  ['.nvimrc', 'neovim runs it where exrc is set'],
  ['.devcontainer', 'commands that run on the machine when the folder is opened'],
  ['.claude', 'hooks, permissions and MCP servers of another agent'],
  ['.codex', 'hooks, permissions and MCP servers of another agent'],
  ['.gemini', 'hooks, permissions and MCP servers of another agent'],
  ['.cursor', 'hooks, permissions and MCP servers of another agent'],
  ['.windsurf', 'hooks, permissions and MCP servers of another agent'],
  ['.opencode', 'plugins, permissions and MCP servers of another agent'],
  ['.mcp.json', 'MCP servers that other agents start'],
  ['.gdbinit', 'gdb runs it'],
  ['.lldbinit', 'lldb runs it'],
  ['.ripgreprc', 'may name a program that ripgrep runs for every file'],
  ['.bashrc', 'every shell runs it'],
  ['.bash_profile', 'every login runs it'],
  ['.bash_login', 'every login runs it'],
  ['.bash_logout', 'every logout runs it'],
  ['.bash_aliases', 'every shell runs it'],
  ['.profile', 'every login runs it'],
  ['.zshrc', 'every shell runs it'],
  ['.zshenv', 'every shell runs it'],
  ['.zprofile', 'every login runs it'],
  ['.zlogin', 'every login runs it'],
  ['.zlogout', 'every logout runs it'],
  ['.inputrc', 'binds keys of every shell to commands'],
  ['.ssh', 'keys that may log in, and commands for connections'],
  ['.pam_environment', 'variables of every login'],
  ['.xprofile', 'every graphical login runs it'],
  ['.xinitrc', 'every graphical login runs it'],
])

/**
 * The sandbox protects only parts of `.git`, so that commands can commit. Other tools never need to
 * write there.
 */
export function whyProtected(name: string): string | undefined {
  return name === '.git'
    ? 'git runs the hooks and the programs that its settings name'
    : protectedNames.get(name)
}
