-- A session of a user: opens `a.yaml`, looks at a finding, fixes it, and brings it back. Writes what was seen into the file
-- that SETGUARD_SEEN names.

local seen = { version = tostring(vim.version().major) .. '.' .. tostring(vim.version().minor) }

local function wait(what, holds)
  if not vim.wait(30000, holds, 20) then
    error('gave up waiting for ' .. what)
  end
end

local function request(method, params)
  local responses = vim.lsp.buf_request_sync(0, method, params, 30000)
  local _, response = next(responses or {})
  assert(response and response.result, method .. ': ' .. vim.inspect(responses))
  return response.result
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n') .. '\n'
end

local function session()
  vim.cmd('edit a.yaml')
  wait('a finding', function() return #vim.diagnostic.get(0) == 1 end)
  local found = vim.diagnostic.get(0)[1]
  local clients = (vim.lsp.get_clients or vim.lsp.get_active_clients)()
  seen.client, seen.encoding = clients[1].name, clients[1].offset_encoding
  seen.source, seen.severity, seen.line, seen.column = found.source, found.severity, found.lnum, found.col

  vim.api.nvim_win_set_cursor(0, { found.lnum + 1, found.col })
  local document = { uri = vim.uri_from_bufnr(0) }
  local position = { line = found.lnum, character = found.col }
  local range = { start = position, ['end'] = position }
  seen.hover = request('textDocument/hover', { textDocument = document, position = position }).contents.value
  local context = { diagnostics = {}, only = { 'source.fixAll' } }
  local actions = request('textDocument/codeAction', { textDocument = document, range = range, context = context })
  seen.actions = vim.tbl_map(function(action) return action.title end, actions)
  local before = text()
  vim.lsp.util.apply_workspace_edit(actions[1].edit, clients[1].offset_encoding)
  seen.fixed = text()
  wait('the finding to go', function() return #vim.diagnostic.get(0) == 0 end)

  vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split(vim.trim(before), '\n'))
  wait('the finding to be back', function() return #vim.diagnostic.get(0) == 1 end)
end

local passed, problem = pcall(session)
seen.problem = not passed and tostring(problem) or nil
vim.fn.writefile({ vim.fn.json_encode(seen) }, vim.env.SETGUARD_SEEN)
vim.cmd('qall!')
